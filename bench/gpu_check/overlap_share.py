"""How much of the time of one side of a query the other side ran, too."""

from __future__ import annotations

from collections.abc import Iterable

from surplus.placement.timeline import Span, SpanKind

Stretch = tuple[int, int]


def overlap_share(spans: Iterable[Span], gpu: str) -> float | None:
    """Time in which both the GPU and the CPU executed, over the time of the side that did less.

    Parameters
    ----------
    spans : iterable of Span
        Of one query; copies are neither side's.
    gpu : str
        The GPU's name; all other devices are the CPU.

    Returns
    -------
    float or None
        None if one side executed nothing.
    """
    away: list[Stretch] = []
    home: list[Stretch] = []
    for span in spans:
        if span.kind is not SpanKind.COPY:
            (away if span.resource == gpu else home).append((span.start_ns, span.end_ns))
    away, home = _union(away), _union(home)
    smaller = min(_length(away), _length(home))
    return _common(away, home) / smaller if smaller else None


def _union(stretches: Iterable[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def _length(stretches: Iterable[Stretch]) -> int:
    return sum(end - start for start, end in stretches)


def _common(one: list[Stretch], other: list[Stretch]) -> int:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return sum(max(0, end - start) for start, end in pairs)
