"""Which nodes run where, said by parts of their names, as ONNX Runtime takes it.

``cpu(/neck/,Gather_7);gpu(/body/)``: of the patterns that a name contains the longest counts, and
of those that are as long the first.

References
----------
ONNX Runtime, ``session.name_based_layer_assignment`` (onnxruntime/core/framework/
layering_annotations.cc, ``LayeringRules`` and ``SubstringMatcher``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

LONGEST = 8192
"""Characters of a session option's value, the last that ONNX Runtime 1.32 takes."""

_ENDS = "/._:-"
"""Where a name's parts end: what nodes of one part of a network have in common."""

_SYNTAX = set(";,()")

Row = tuple[str, str]
"""Name of a node, and a device of ONNX Runtime."""


def name_rules(rows: Sequence[Row]) -> str | None:
    """The value of the option by which each node gets its device.

    Returns
    -------
    str or None
        None if names do not tell the nodes apart, or that takes too many characters.
    """
    patterns = _patterns(rows)
    if patterns is None:
        return None
    devices = dict.fromkeys(device for _, device in patterns)
    value = ";".join(f"{d}({','.join(p for p, own in patterns if own == d)})" for d in devices)
    if len(value) > LONGEST or matched(patterns, [n for n, _ in rows]) != [d for _, d in rows]:
        return None
    return value


def matched(patterns: Iterable[Row], names: Iterable[str]) -> list[str | None]:
    """The device that ONNX Runtime gives to each node by ``patterns``, in their order."""
    longest_first = sorted(patterns, key=lambda row: -len(row[0]))
    return [
        next((device for pattern, device in longest_first if pattern in name), None)
        for name in names
    ]


def _patterns(rows: Sequence[Row]) -> list[Row] | None:
    """The shortest beginnings that only names of one device contain; whole names where none is.

    A whole name may be a part of others' names: these then have to be said in whole, too.
    """
    chosen: dict[str, str] = {}
    whole: set[str] = set()
    elsewhere = {
        own: "\n".join(name for name, device in rows if device != own)
        for own in dict.fromkeys(device for _, device in rows)
    }
    for name, device in rows:
        if any(own == device and pattern in name for pattern, own in chosen.items()):
            continue
        found = next((p for p in _beginnings(name) if p not in elsewhere[device]), None)
        if found is None:
            found = name
            whole.update(other for other, own in rows if own != device and name in other)
        if not _is_plain(found) or sum(map(len, chosen)) > LONGEST:
            return None
        chosen[found] = device
    for name, device in rows:
        if name in whole:
            if not _is_plain(name):
                return None
            chosen[name] = device
    return list(chosen.items())


def _beginnings(name: str) -> Iterator[str]:
    """Those that end where a part of the name does, short ones first, and the name itself."""
    for place, letter in enumerate(name[:-1], 1):
        if letter in _ENDS and place > 1 and _is_plain(name[:place]):
            yield name[:place]
    if _is_plain(name):
        yield name


def _is_plain(pattern: str) -> bool:
    """Whether ONNX Runtime reads the pattern as it stands."""
    return (
        bool(pattern)
        and pattern.strip() == pattern
        and not (pattern.startswith("=") or _SYNTAX & set(pattern))
    )
