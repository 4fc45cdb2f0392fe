"""Greedy best fit: each service a partition of its own, as small as its rate and target allow.

References
----------
gpulet (ATC'22), section 2.3: the spatial baseline, as in GSLICE on several devices; no turns.
"""

from __future__ import annotations

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.policies.gpulet.floor import SPLITS
from surplus.colocation.policies.gpulet.packing import PackingParams
from surplus.colocation.policies.gpulet.scheduler import RateParams, Scheduler


@PLANNERS.register("greedy_best_fit")
class GreedyBestFit:
    """The least sufficient partitions, best fit first; at most two a device, as for gpulets.

    Parameters
    ----------
    percentile, window_s : float
        See ``RateParams``.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(self, percentile: float = 0.5, window_s: float = 0.5) -> None:
        params = PackingParams(efficient=False, merge=False)
        self._scheduler = Scheduler(params, None, RateParams(percentile, window_s))

    def plan(self, demand: Demand) -> Deployment:
        """Place the services in gpulet's order."""
        scheduler = self._scheduler
        whole = [SPLITS[0]] * len(demand.devices)
        attempt = scheduler.attempt(demand, scheduler.order(demand), whole, elastic=True)
        return scheduler.deployment(demand, attempt)
