"""gpulet: elastic partitioning on as few devices as serve the rates.

References
----------
gpulet (ATC'22), Algorithms 1 and 2. Departure: numbers of devices that cannot do, by a lower bound
on what the rates take, are not tried.
"""

from __future__ import annotations

from collections.abc import Iterator

from colocation.deployment import Deployment
from colocation.gpulets.belief import LinearParams
from colocation.gpulets.packing import PackingParams
from colocation.gpulets.scheduler import Attempt, RateParams, Scheduler, best_of
from colocation.planner import PLANNERS, Demand


@PLANNERS.register("gpulet")
class Gpulet:
    """Divides devices as services need it.

    Parameters
    ----------
    interference : bool
        Allow for what neighbours cost: the paper's gpulet+int.
    percentile, window_s : float
        See ``RateParams``.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self, interference: bool = True, percentile: float = 0.5, window_s: float = 0.5
    ) -> None:
        belief = LinearParams() if interference else None
        rates = RateParams(percentile, window_s)
        self._scheduler = Scheduler(PackingParams(), belief, rates)

    def plan(self, demand: Demand) -> Deployment:
        """Begin with as many devices as serve now, and add one at a time (Algorithm 2)."""
        return self._scheduler.deployment(demand, best_of(self._attempts(demand)))

    def _attempts(self, demand: Demand) -> Iterator[Attempt]:
        order = self._scheduler.order(demand)
        now = demand.previous
        used = {partition.device for partition in now.partitions} if now else set()
        fewest = max(len(used), self._scheduler.fewest(demand, order))
        for devices in range(fewest, len(demand.devices) + 1):
            yield self._scheduler.attempt(demand, order, [(100,)] * devices, elastic=True)
