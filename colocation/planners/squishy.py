"""Squishy bin packing with gpulet's arithmetic: devices are divided in one way for all loads.

References
----------
gpulet (ATC'22), sections 2.2 and 3.2: SBP is the temporal baseline, whole devices; "SBP 50/50"
halves each. The planner ``nexus`` is the original.
"""

from __future__ import annotations

from collections.abc import Iterator

from colocation.deployment import Deployment
from colocation.gpulets.floor import SPLITS
from colocation.gpulets.packing import PackingParams
from colocation.gpulets.scheduler import Attempt, RateParams, Scheduler, best_of
from colocation.planner import PLANNERS, Demand


@PLANNERS.register("squishy")
class Squishy:
    """Duty cycles on partitions of a fixed size.

    Parameters
    ----------
    halves : bool
        Two equal partitions a device instead of one.
    percentile, window_s : float
        See ``RateParams``.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self, halves: bool = False, percentile: float = 0.5, window_s: float = 0.5
    ) -> None:
        self._split = SPLITS[1] if halves else SPLITS[0]
        self._scheduler = Scheduler(PackingParams(), None, RateParams(percentile, window_s))

    def plan(self, demand: Demand) -> Deployment:
        """Use as few devices as serve the rates."""
        return self._scheduler.deployment(demand, best_of(self._attempts(demand)))

    def _attempts(self, demand: Demand) -> Iterator[Attempt]:
        order = self._scheduler.order(demand)
        fewest = self._scheduler.fewest(demand, order)
        for devices in range(fewest, len(demand.devices) + 1):
            yield self._scheduler.attempt(demand, order, [self._split] * devices, elastic=False)
