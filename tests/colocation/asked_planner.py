"""A planner that keeps what it is asked."""

from __future__ import annotations

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand

ASKED: list[Demand] = []
ASKED_PLANNER = "asked_for_a_test"


@PLANNERS.register(ASKED_PLANNER)
class AskedPlanner:
    """Plans whole devices."""

    def plan(self, demand: Demand) -> Deployment:
        ASKED.append(demand)
        return PLANNERS.make("whole").plan(demand)
