"""Elastic partitioning over the devices of a cluster.

References
----------
gpulet (ATC'22), Algorithms 1 and 2, as ``surplus.colocation``'s planner ``gpulet`` has them: at
most two gpulets a device.
"""

from __future__ import annotations

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS
from surplus.cluster.planners.from_colocation import plan_as_one_server
from surplus.colocation.policies.gpulet.planner import Gpulet


@CLUSTER_PLANNERS.register("gpulet")
class GpuletCluster:
    """Devices in two parts, duty cycles.

    Parameters
    ----------
    percentile, window_s : float
        How much more than the mean rate is planned for: of Poisson arrivals in a window.
    interference : bool
        Allow for what neighbours cost (gpulet+int), where profiles say how they use memory.
    """

    def __init__(
        self, percentile: float = 0.95, window_s: float = 0.5, interference: bool = False
    ) -> None:
        self._planner = Gpulet(interference, percentile, window_s, retry=False)

    def plan(self, demand: ClusterDemand) -> ClusterPlan:
        """From nothing."""
        return plan_as_one_server(self._planner, demand)
