"""What each lane did over the last seconds, and for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surplus.engine.explain.flights import Flights, LaneKind, NodeField
from surplus.engine.explain.utilisation import covered_ns

_Window = tuple[int, int]


@dataclass(frozen=True)
class LaneTraffic:
    """One lane within a window of time.

    Parameters
    ----------
    device : str
    lane : int
    is_best_effort : bool
        Whether it is one of those beside the others.
    window_ns : int
        How long it is looked at: shorter where older records are not there any more.
    busy_ns : int
        How long anything ran on it. What has not ended is not known yet.
    lent_ns : int
        How long its place was lent to what is more urgent.
    models : mapping of str to int
        How long for whom, the longest first. Who made way counts as well as who it was for.
    """

    device: str
    lane: int
    is_best_effort: bool
    window_ns: int
    busy_ns: int
    lent_ns: int
    models: Mapping[str, int]

    @property
    def busy_share(self) -> float:
        """Of the window, 0 to 1."""
        return self.busy_ns / max(1, self.window_ns)


def lane_traffic(flights: Flights) -> list[LaneTraffic]:
    """Every lane of every device, and those of what is best effort that ran something."""
    rows: dict[tuple[int, bool, int], list[tuple[int, ...]]] = {
        (device, False, lane): []
        for device, (_, count) in enumerate(flights.devices)
        for lane in range(count)
    }
    for row in flights.by_start.tolist():
        for lane in _lanes(flights, row):
            key = row[NodeField.DEVICE], row[NodeField.KIND] == LaneKind.BEST_EFFORT, lane
            rows.setdefault(key, []).append(row)
    return [_traffic(flights, *key, found) for key, found in sorted(rows.items())]


def _traffic(
    flights: Flights, device: int, is_best_effort: bool, lane: int, rows: list[tuple[int, ...]]
) -> LaneTraffic:
    kinds = (LaneKind.BEST_EFFORT,) if is_best_effort else (LaneKind.LANE, LaneKind.BORROWED)
    reach_ns = max(flights.reaches_ns.get((device, kind), 0) for kind in kinds)
    from_ns = max(flights.since_ns, reach_ns)
    windows: dict[str, list[_Window]] = defaultdict(list)
    for row in rows:
        window = max(from_ns, row[NodeField.START]), row[NodeField.END]
        windows[flights.label(row[NodeField.PLAN])].append(window)
    lent = [
        (max(from_ns, row[NodeField.START]), row[NodeField.END])
        for row in rows
        if row[NodeField.KIND] == LaneKind.BORROWED
    ]
    taken = {model: covered_ns(found) for model, found in windows.items()}
    return LaneTraffic(
        device=flights.devices[device][0],
        lane=lane,
        is_best_effort=is_best_effort,
        window_ns=flights.now_ns - from_ns,
        busy_ns=covered_ns([window for found in windows.values() for window in found]),
        lent_ns=covered_ns(lent),
        models=dict(sorted(taken.items(), key=lambda item: -item[1])),
    )


def _lanes(flights: Flights, row: list[int]) -> Iterator[int]:
    """The lane that is recorded, and of a wide node the next ones: it has as many."""
    width = flights.width(row[NodeField.PLAN], row[NodeField.NODE])
    count = flights.devices[row[NodeField.DEVICE]][1]
    return ((row[NodeField.LANE] + i) % count for i in range(width))
