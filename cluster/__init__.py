"""Clusters: which models are served on which nodes, planned and simulated (docs/CLUSTER.md).

Knows nothing of processes, networks or Ray: plans are data, and who serves them reads them.
Importing the package fills its registry of planners.
"""

from surplus.cluster.frame.check_plan import check_plan as check_plan
from surplus.cluster.frame.cluster_demand import ClusterDemand as ClusterDemand
from surplus.cluster.frame.cluster_model import ClusterModel as ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan as ClusterPlan
from surplus.cluster.frame.cluster_plan import Replica as Replica
from surplus.cluster.frame.cluster_plan import Strip as Strip
from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS as CLUSTER_PLANNERS
from surplus.cluster.frame.fleet import ClusterNode as ClusterNode
from surplus.cluster.frame.fleet import Fleet as Fleet
from surplus.cluster.frame.node_kind import NodeKind as NodeKind
from surplus.cluster.planners import all as all
