"""Strips at the knee, any number on a device.

References
----------
D-STACK (TCC'24): each model runs at the share of its greatest efficacy, and models are packed in
share and time. Departures: a session's timetable is a set of strips that stand as long as the
plan, in which models of one knee take turns; rates of Poisson arrivals, not of constant ones; a
plan that serves is changed instead of being made anew. The planner of one server, with sessions,
is ``surplus.colocation``'s.
"""

from __future__ import annotations

from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS
from surplus.cluster.planners.packing_planner import PackingPlanner


@CLUSTER_PLANNERS.register("dstack")
class DStackCluster(PackingPlanner):
    """Packs turns at the knee.

    Parameters
    ----------
    most_moves : int
        Replicas that may move, beyond those whose rates changed, when a plan is changed; >= 0.
    """

    def __init__(self, most_moves: int = 40) -> None:
        super().__init__(as_they_come=False, sizes="knee", most_moves=most_moves)
