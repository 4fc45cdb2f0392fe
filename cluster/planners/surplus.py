"""Our own planner: the fewest node hours, moved little.

Heavy models get strips of their own, of the size and batch that cost least a query, so full that
as many are late as may be; the rest of them and light models share strips, by turns or, where
those would have to be reserved for models that hardly come, as they come. Then nodes are emptied
that others have room for. A plan that serves is changed: only models whose rates differ are
placed anew, and few others move.
"""

from __future__ import annotations

from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS
from surplus.cluster.planners.packing_planner import PackingPlanner


@CLUSTER_PLANNERS.register("surplus")
class SurplusCluster(PackingPlanner):
    """Packs by price.

    Parameters
    ----------
    most_moves : int
        Replicas that may move, beyond those whose rates changed, when a plan is changed; >= 0.
    interference : bool
        Allow for what neighbours cost, where profiles say how they use memory.
    """

    def __init__(self, most_moves: int = 40, interference: bool = True) -> None:
        super().__init__(
            as_they_come=True, sizes="all", most_moves=most_moves, interference=interference
        )
