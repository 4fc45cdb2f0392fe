"""The extension point of planners of a cluster: rates in, a plan out."""

from __future__ import annotations

from typing import Protocol

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.colocation.frame.registry import Registry


class ClusterPlanner(Protocol):
    """A pure function of the demand; what it keeps are tables of profiles."""

    def plan(self, demand: ClusterDemand) -> ClusterPlan:
        """Place replicas of every model that has a rate.

        What does not fit is a shortfall of the plan, never an error.
        """
        ...


CLUSTER_PLANNERS: Registry[ClusterPlanner] = Registry("cluster planner")
"""Factories take options only."""
