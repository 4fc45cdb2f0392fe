"""Reads from scenario files what changes while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.scenarios.tables import ChangeTable, ScenarioTables

Changes = tuple[tuple[int, Change], ...]

_STATES = {
    ("device", "lost"): ChangeKind.DEVICE_LOST,
    ("device", "back"): ChangeKind.DEVICE_BACK,
    ("service", "left"): ChangeKind.SERVICE_LEFT,
    ("service", "came"): ChangeKind.SERVICE_CAME,
}


def read_changes(tables: ScenarioTables) -> Changes:
    """Read ``[[change]]``, sorted by time.

    Raises
    ------
    ValueError
        If a table is wrong, or something goes twice without coming back in between.
    """
    names = {"device": tables.device_names, "service": tables.service_names}
    found = [_change(table, k, names) for k, table in enumerate(tables.change)]
    rows = sorted(found, key=lambda row: row[0])
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


def _change(
    table: ChangeTable, place: int, names: Mapping[str, Sequence[str]]
) -> tuple[int, Change]:
    where = f"change[{place}]"
    if bool(table.device) == bool(table.service):
        raise ValueError(f"{where}: give a device or a service")
    kind, name = ("device", table.device) if table.device else ("service", table.service)
    if name not in names[kind]:
        raise ValueError(f"{where}: there is no {kind} {name!r}")
    if (kind, table.state) not in _STATES:
        known = ", ".join(known for own, known in _STATES if own == kind)
        raise ValueError(f"{where}: state of a {kind} must be of {known}, got {table.state!r}")
    return round(table.at_s * NS_PER_S), Change(_STATES[kind, table.state], names[kind].index(name))
