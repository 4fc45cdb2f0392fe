"""gpulet: elastic partitioning on as few devices as serve the rates.

References
----------
gpulet (ATC'22), Algorithms 1 and 2. Departures: the first plan is made on all devices at once, as
Algorithm 1 opens one only when no other has room; where it leaves a rest on all of them, it is
tried once more in the opposite order, and on halves (``retry``).
"""

from __future__ import annotations

from collections.abc import Iterator

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.policies.gpulet.belief import LinearParams
from surplus.colocation.policies.gpulet.floor import SPLITS
from surplus.colocation.policies.gpulet.packing import PackingParams
from surplus.colocation.policies.gpulet.scheduler import Attempt, RateParams, Scheduler, best_of


@PLANNERS.register("gpulet")
class Gpulet:
    """Divides devices as services need it.

    Parameters
    ----------
    interference : bool
        Allow for what neighbours cost: the paper's gpulet+int.
    percentile, window_s : float
        See ``RateParams``.
    retry : bool
        Try other ways on all devices before a rate is said to be short.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self,
        interference: bool = True,
        percentile: float = 0.5,
        window_s: float = 0.5,
        retry: bool = True,
    ) -> None:
        belief = LinearParams() if interference else None
        rates = RateParams(percentile, window_s)
        self._scheduler = Scheduler(PackingParams(), belief, rates)
        self._retry = retry

    def plan(self, demand: Demand) -> Deployment:
        """Begin with as many devices as serve now, if any do, and add one at a time."""
        return self._scheduler.deployment(demand, best_of(self._attempts(demand)))

    def _attempts(self, demand: Demand) -> Iterator[Attempt]:
        attempt, order = self._scheduler.attempt, self._scheduler.order(demand)
        now, most = demand.previous, len(demand.devices)
        used = {partition.device for partition in now.partitions} if now else set()
        for devices in range(len(used) or most, most + 1):
            yield attempt(demand, order, [SPLITS[0]] * devices, elastic=True)
        if self._retry:
            yield attempt(demand, order[::-1], [SPLITS[0]] * most, elastic=True)
            yield attempt(demand, order, [SPLITS[1]] * most, elastic=False)
