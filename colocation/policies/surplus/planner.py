"""Columns: each service on each share that serves it, on every device, held while it runs.

A deployment of shares on demand: what runs may not add up to more than a device, what might run
may. So partitions are not divided for good, and their sizes are decided batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from surplus.colocation.frame.deployment import Assignment, Deployment, Shortfall
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition
from surplus.colocation.policies.surplus.levels import ShareLevel, levels_of

_MOST_ASSIGNMENTS = 4000
"""Over all devices: with more services there are fewer shares for each."""


@PLANNERS.register("columns")
class Columns:
    """Places by memory: first each service's best share, then the others, then further copies.

    Parameters
    ----------
    gain : float
        See ``levels_of``; 0 to 1.
    levels : int
        Shares of a service, at most; >= 1.
    whole : bool
        Only the largest share of each service.
    steady : bool
        Batches of half of the target, at most, so that one may follow another.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(
        self, gain: float = 0.04, levels: int = 6, whole: bool = False, steady: bool = False
    ) -> None:
        if not 0 <= gain < 1 or levels < 1:
            raise ValueError(f"0 <= gain < 1 and levels >= 1, got {gain} and {levels}")
        self._gain = gain
        self._levels = levels
        self._whole = whole
        self._steady = steady

    def plan(self, demand: Demand) -> Deployment:
        """Ignore the rates: prices say what is refused."""
        devices, count = len(demand.devices), len(demand.services)
        most = max(1, min(self._levels, _MOST_ASSIGNMENTS // max(1, 3 * devices * count)))
        levels = [levels_of(demand, k, self._gain, most) for k in range(count)]
        if self._whole:
            levels = [own[-1:] for own in levels]
        places: dict[tuple[int, int, int], int] = {}
        assignments = []
        for device, own in enumerate(demand.devices):
            left = own.memory_bytes
            for service, level, copy in _wishes(levels):
                size = demand.services[service].memory_bytes
                if left is not None and left < size:
                    continue
                left = None if left is None else left - size
                key = (device, level.share_percent, copy)
                place = places.setdefault(key, len(places))
                batch = level.steady if self._steady else level.batch
                assignments.append(Assignment(service, place, batch))
        placed = {assignment.service for assignment in assignments}
        return Deployment(
            partitions=tuple(Partition(device, share) for device, share, _ in places),
            assignments=tuple(assignments),
            shortfalls=tuple(
                Shortfall(k, demand.rates_per_s[k], "no device has the memory")
                for k in range(count)
                if k not in placed
            ),
            on_demand=True,
        )


def _wishes(levels: list[tuple[ShareLevel, ...]]) -> Iterator[tuple[int, ShareLevel, int]]:
    """Services, shares and copies, the most needed first."""
    for service, own in enumerate(levels):
        yield service, min(own, key=lambda level: level.work), 0
    for service, own in enumerate(levels):
        best = min(own, key=lambda level: level.work)
        for level in own:
            if level is not best:
                yield service, level, 0
    for copy in range(1, max(100 // own[0].share_percent for own in levels)):
        for service, own in enumerate(levels):
            for level in own:
                if copy < 100 // level.share_percent:
                    yield service, level, copy
