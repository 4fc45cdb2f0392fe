"""Squishy bin packing over the devices of a cluster.

References
----------
Nexus (SOSP'19), section 6.1, as ``surplus.colocation``'s planner ``squishy`` has it: whole
devices, with what they hold in memory. Rates are padded as in gpulet's release.
"""

from __future__ import annotations

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS
from surplus.cluster.planners.from_colocation import plan_as_one_server
from surplus.colocation.policies.gpulet.squishy import Squishy


@CLUSTER_PLANNERS.register("squishy")
class SquishyCluster:
    """Whole devices, duty cycles.

    Parameters
    ----------
    percentile, window_s : float
        How much more than the mean rate is planned for: of Poisson arrivals in a window.
    """

    def __init__(self, percentile: float = 0.95, window_s: float = 0.5) -> None:
        self._planner = Squishy(percentile=percentile, window_s=window_s)

    def plan(self, demand: ClusterDemand) -> ClusterPlan:
        """From nothing."""
        return plan_as_one_server(self._planner, demand)
