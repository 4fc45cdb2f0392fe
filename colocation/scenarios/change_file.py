"""Reads from scenario files what changes while they run, and how deployments follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation.files.toml_table import TomlTable
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.reorganiser import ReorganisationParams

Changes = tuple[tuple[int, Change], ...]

_STATES = {
    ("device", "lost"): ChangeKind.DEVICE_LOST,
    ("device", "back"): ChangeKind.DEVICE_BACK,
    ("service", "left"): ChangeKind.SERVICE_LEFT,
    ("service", "came"): ChangeKind.SERVICE_CAME,
}


def read_changes(tables: Sequence[TomlTable], names: Mapping[str, Sequence[str]]) -> Changes:
    """Read ``[[change]]``, sorted by time.

    Parameters
    ----------
    tables : sequence of TomlTable
        Each ``at_s``, ``device`` or ``service``, and ``state``.
    names : mapping
        ``"device"`` and ``"service"`` to the names of the scenario's.

    Raises
    ------
    ValueError
        If a table is wrong, or something goes twice without coming back in between.
    """
    rows = sorted((_change(table, names) for table in tables), key=lambda row: row[0])
    away: dict[tuple[bool, int], tuple[bool, int]] = {}
    for when_ns, change in rows:
        subject = (change.kind.of_device, change.subject)
        was_away, since_ns = away.get(subject, (False, -1))
        if was_away == change.kind.away or since_ns == when_ns:
            kind = "device" if change.kind.of_device else "service"
            state = "away" if was_away else "here"
            name = names[kind][change.subject]
            raise ValueError(f"change at {when_ns} ns: {kind} {name!r} is {state} already")
        away[subject] = (change.kind.away, when_ns)
    return tuple(rows)


def _change(table: TomlTable, names: Mapping[str, Sequence[str]]) -> tuple[int, Change]:
    at_ns = table.time_ns("at_s", NS_PER_S)
    given = {kind: table.take(kind, str, "") for kind in ("device", "service")}
    kinds = [kind for kind, name in given.items() if name]
    if len(kinds) != 1:
        raise ValueError(f"{table.where}: give a device or a service, got {given}")
    kind, name, state = kinds[0], given[kinds[0]], table.take("state", str)
    if name not in names[kind]:
        raise ValueError(f"{table.where}: there is no {kind} {name!r}")
    if (kind, state) not in _STATES:
        known = ", ".join(known for own, known in _STATES if own == kind)
        raise ValueError(f"{table.where}: state of a {kind} must be of {known}, got {state!r}")
    table.done()
    return at_ns, Change(_STATES[kind, state], names[kind].index(name))


def read_reorganisation(table: TomlTable | None) -> ReorganisationParams | None:
    """Read ``[reorganise]``; None if there is none.

    Raises
    ------
    ValueError
        If a value is out of range or a key unknown.
    """
    if table is None:
        return None
    params = ReorganisationParams()
    nanoseconds = {
        own: table.time_ns(key, NS_PER_S, least_ns)
        for own, key, least_ns in (
            ("period_ns", "period_s", NS_PER_MS),
            ("reorganisation_ns", "takes_s", 0),
            ("window_ns", "window_s", NS_PER_MS),
        )
        if key in table
    }
    threshold = table.take("threshold", float, params.threshold)
    windows = table.take("windows", int, params.windows)
    table.done()
    try:
        return ReorganisationParams(**nanoseconds, threshold=threshold, windows=windows)
    except ValueError as error:
        raise ValueError(f"{table.where}: {error}") from error
