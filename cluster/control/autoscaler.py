"""The extension point of what scales a cluster, and the two that there are."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from surplus.cluster.control.rate_estimate import RateEstimate
from surplus.cluster.control.sleep import Sleep
from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.cluster_planner import ClusterPlanner
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats


class Autoscaler(Protocol):
    """Says what serves from now on; the same object in the simulator and beside a cluster."""

    def step(
        self, seen_per_s: Floats, waking: npt.NDArray[np.bool_], window_s: float
    ) -> ClusterPlan:
        """Look at a window that has ended.

        Parameters
        ----------
        seen_per_s : array of float
            Rates of the window, by model.
        waking : array of bool
            Models without replicas that a query has just come for.
        window_s : float
            Length of the window; > 0.
        """
        ...


class Following:
    """Asks a planner again whenever a rate to plan for has changed.

    Parameters
    ----------
    planner : ClusterPlanner
    models : tuple of ClusterModel
    fleet : Fleet
    estimate : RateEstimate
    sleep : Sleep, optional
        None to keep everything loaded.

    Raises
    ------
    ValueError
        If a model fits no node.

    Attributes
    ----------
    plan : ClusterPlan or None
    lost : frozenset of int
        Nodes that are known to be away; set by who watches them.
    """

    def __init__(
        self,
        planner: ClusterPlanner,
        models: tuple[ClusterModel, ...],
        fleet: Fleet,
        estimate: RateEstimate,
        sleep: Sleep | None = None,
    ) -> None:
        self._planner = planner
        self._models = models
        self._fleet = fleet
        self._estimate = estimate
        self._sleep = sleep
        self._planned: Floats = np.zeros(len(models))
        self.plan: ClusterPlan | None = None
        self.lost: frozenset[int] = frozenset()
        self._planned_without: frozenset[int] = frozenset()

    def step(
        self, seen_per_s: Floats, waking: npt.NDArray[np.bool_], window_s: float
    ) -> ClusterPlan:
        """Change the plan if there is a reason to, or a rest that found no place before."""
        wanted = self._estimate.see(seen_per_s, window_s)
        if self._sleep is not None:
            wanted = self._sleep.see(seen_per_s, wanted, waking, window_s)
        plan = self.plan
        changed = self.lost != self._planned_without or not np.array_equal(wanted, self._planned)
        if plan is None or plan.shortfalls or changed:
            rates_per_s = tuple(wanted.tolist())
            demand = ClusterDemand(self._models, rates_per_s, self._fleet, plan, self.lost)
            plan = self.plan = self._planner.plan(demand)
            self._planned, self._planned_without = wanted, self.lost
        return plan


class Fixed:
    """One plan for good: static provisioning."""

    def __init__(self, plan: ClusterPlan) -> None:
        self.plan = plan

    def step(
        self, seen_per_s: Floats, waking: npt.NDArray[np.bool_], window_s: float
    ) -> ClusterPlan:
        """Always the same."""
        return self.plan
