"""Follows rates and losses with plans, and hands servers what is loaded.

A node takes its part of a plan over when its models are loaded, and keeps whom it loses until
their other replicas are. Departure from a real cluster: a model is gone from memory at once then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surplus.cluster.control.autoscaler import Following
from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.simulation.changeover import Changeover
from surplus.cluster.simulation.node_deployments import NOTHING, node_deployments
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.query import Query

_LONG_AGO_NS = -1e18


@dataclass(frozen=True)
class FollowerParams:
    """When to plan.

    Parameters
    ----------
    period_ns : int
        How often rates are looked at; > 0.
    until_ns : int
        No period begins later.
    notice_ns : int
        From the loss of a node until the planner knows, unless it is back by then; >= 0. Ray
        takes 15 s.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    period_ns: int
    until_ns: int
    notice_ns: int = 15 * NS_PER_S

    def __post_init__(self) -> None:
        if self.period_ns < 1 or self.notice_ns < 0:
            raise ValueError(f"period_ns must be > 0 and notice_ns >= 0, got {self}")


class PlanFollower:
    """Oversees a ``RoutedCluster``.

    Parameters
    ----------
    models : tuple of ClusterModel
    fleet : Fleet
    scaler : Following
    first_per_s : array of float
        Rates that are taken to have been seen; what is planned for them is loaded at first.
    params : FollowerParams

    Attributes
    ----------
    plans : list of (int, ClusterPlan)
        Since when which one is followed.
    """

    def __init__(
        self,
        models: tuple[ClusterModel, ...],
        fleet: Fleet,
        scaler: Following,
        first_per_s: Floats,
        params: FollowerParams,
    ) -> None:
        self._models = models
        self._nodes = len(fleet.nodes)
        self._scaler = scaler
        self._params = params
        self._change = Changeover(models, fleet)
        self._counts = np.zeros(len(models))
        self._seen_per_s = first_per_s
        self._away: dict[int, int] = {}
        self.plans: list[tuple[int, ClusterPlan]] = []
        plan = self._planned()
        self.plans.append((0, plan))
        self._change.take(plan, _LONG_AGO_NS, np.full(len(models), _LONG_AGO_NS))
        self._wanted = node_deployments(plan, models)
        self._cluster: RoutedCluster | None = None

    @property
    def deployments(self) -> list[Deployment]:
        """What each node serves at first."""
        return [self._wanted.get(node, NOTHING) for node in range(self._nodes)]

    def begin(self, cluster: RoutedCluster) -> None:
        """Look at rates from now on."""
        self._cluster = cluster
        cluster.at(self._params.period_ns, self._look)

    def arrived(self, query: Query) -> None:
        """Count a query."""
        self._counts[query.service] += 1

    def lost(self, node: int, now_ns: int) -> None:
        """Plan without a node, if it is still away when that is noticed."""
        self._away[node] = now_ns
        self._at(now_ns + self._params.notice_ns, lambda when: self._missed(node, now_ns, when))

    def back(self, node: int, now_ns: int) -> None:
        """Plan with a node again, at the next look."""
        del self._away[node]
        self._scaler.lost -= {node}

    def _missed(self, node: int, since_ns: int, now_ns: int) -> None:
        if self._away.get(node) == since_ns:
            self._scaler.lost |= {node}
            self._follow(self._planned(), now_ns)

    def _look(self, now_ns: int) -> None:
        period_ns = self._params.period_ns
        self._seen_per_s = self._counts * (NS_PER_S / period_ns)
        self._counts = np.zeros(len(self._models))
        self._follow(self._planned(), now_ns)
        if now_ns + period_ns <= self._params.until_ns:
            self._at(now_ns + period_ns, self._look)

    def _planned(self) -> ClusterPlan:
        there = np.zeros(len(self._models), np.bool_)
        there[[replica.model for replica in self._change.plan.replicas]] = True
        waking = (self._seen_per_s > 0) & ~there
        return self._scaler.step(self._seen_per_s, waking, self._params.period_ns / NS_PER_S)

    def _follow(self, plan: ClusterPlan, now_ns: int) -> None:
        """Load what a plan needs; let each node take over when it can."""
        if plan is self._change.plan:
            return
        self.plans.append((now_ns, plan))
        self._change.take(plan, now_ns, np.full(len(self._models), float(now_ns)))
        loaded_ns = self._change.node_loaded_ns
        wanted = node_deployments(plan, self._models)
        due: dict[int, dict[int, Deployment]] = defaultdict(dict)
        for node in sorted(wanted.keys() | self._wanted.keys()):
            before, after = self._wanted.get(node, NOTHING), wanted.get(node, NOTHING)
            if before != after:
                leaving = sorted(before.served - after.served)
                ready_ns = float(self._change.ready_ns[leaving].max(initial=now_ns))
                due[round(max(ready_ns, loaded_ns.get(node, now_ns)))][node] = after
        self._wanted = wanted
        for when_ns, deployments in due.items():
            self._hand_over(deployments, when_ns)

    def _hand_over(self, deployments: dict[int, Deployment], when_ns: int) -> None:
        """Unless another plan wants something else of a node by then."""

        def take_over(now_ns: int) -> None:
            still = {n: d for n, d in deployments.items() if self._wanted.get(n, NOTHING) == d}
            assert self._cluster is not None
            self._cluster.take_over(still)

        self._at(when_ns, take_over)

    def _at(self, when_ns: int, happening: Callable[[int], None]) -> None:
        assert self._cluster is not None
        self._cluster.at(when_ns, happening)
