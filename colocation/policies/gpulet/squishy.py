"""Squishy bin packing with gpulet's arithmetic: devices are divided in one way for all loads.

References
----------
gpulet (ATC'22), sections 2.2 and 3.2: SBP is the temporal baseline, whole devices; "SBP 50/50"
halves each. The planner ``nexus`` is the original.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.policies.gpulet.floor import SPLITS
from surplus.colocation.policies.gpulet.packing import PackingParams
from surplus.colocation.policies.gpulet.scheduler import RateParams, Scheduler


@PLANNERS.register("squishy")
class Squishy:
    """Duty cycles on partitions of a fixed size.

    Parameters
    ----------
    halves : bool
        Two equal partitions a device instead of one.
    split : sequence of int, optional
        Sizes of the partitions instead, in percent: one of gpulet's ways of dividing a device.
    percentile, window_s : float
        See ``RateParams``.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self,
        halves: bool = False,
        percentile: float = 0.5,
        window_s: float = 0.5,
        split: Sequence[int] | None = None,
    ) -> None:
        if split is not None and tuple(split) not in SPLITS:
            raise ValueError(f"split must be one of {SPLITS}, got {split}")
        self._split = tuple(split or SPLITS[bool(halves)])
        self._scheduler = Scheduler(PackingParams(), None, RateParams(percentile, window_s))

    def plan(self, demand: Demand) -> Deployment:
        """Open a device when no other has room."""
        scheduler = self._scheduler
        divided = [self._split] * len(demand.devices)
        attempt = scheduler.attempt(demand, scheduler.order(demand), divided, elastic=False)
        return scheduler.deployment(demand, attempt)
