"""Who serves what, by ``surplus.cluster``: asked again as rates change and nodes come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from surplus.cluster import CLUSTER_PLANNERS, ClusterModel, ClusterNode, ClusterPlan, Fleet
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import MovingMean
from surplus.cluster.control.sleep import Sleep
from surplus.cluster.frame.cluster_model import check_fits
from surplus.engine.deployment.cluster_file import ClusterFile
from surplus.engine.deployment.stopgap import stopgaps


class Planning:
    """An autoscaler of ``surplus.cluster``, and nodes by their ids.

    Parameters
    ----------
    file : ClusterFile
    nodes : sequence of ClusterNode
        That may be used; their names are ids.
    rates_per_s : mapping of str to float, optional
        By model, where more is known than what the file expects.

    Raises
    ------
    ValueError
        If a model fits none of the nodes, or a node has less than its kind says.
    """

    def __init__(
        self,
        file: ClusterFile,
        nodes: Sequence[ClusterNode],
        rates_per_s: Mapping[str, float] | None = None,
    ) -> None:
        self._kinds = file.node_kinds
        self._models: tuple[ClusterModel, ...] = file.cluster_models
        self._names = [model.name for model in self._models]
        self._window_s = file.window_s
        expected = {name: table.rate_per_s for name, table in file.models.items()}
        rates = np.array([(rates_per_s or {}).get(name, expected[name]) for name in self._names])
        self._planner = CLUSTER_PLANNERS.make(file.planner, **file.options)
        self._estimate = MovingMean(rates)
        self._sleep = Sleep(self._models, self._kinds, file.idle_windows)
        self._seen = rates
        self._fleet = Fleet(self._kinds, tuple(nodes))
        check_fits(self._models, [self._kinds[kind] for kind in sorted({n.kind for n in nodes})])
        self._following = self._begun(None)
        self.plan = self.step(dict(zip(self._names, rates, strict=True)), frozenset(self._names))

    @property
    def rates_per_s(self) -> dict[str, float]:
        """Of the last window, by model."""
        return dict(zip(self._names, self._seen.tolist(), strict=True))

    def step(self, rates_per_s: Mapping[str, float], waking: Set[str]) -> ClusterPlan:
        """A window has ended, with these rates; somebody waits for some models.

        A model that the rates do not have is taken to have had none.
        """
        self._seen = np.array([rates_per_s.get(name, 0.0) for name in self._names])
        return self._stepped(waking)

    def wake(self, waking: Set[str]) -> ClusterPlan:
        """Somebody waits for models, before the window has ended."""
        return self._stepped(waking)

    def refleet(self, nodes: Sequence[ClusterNode]) -> ClusterPlan:
        """Other nodes are there. What the plan has on those that stay stays."""
        fleet = Fleet(self._kinds, tuple(nodes))
        kept = moved_to(self.plan, self._fleet, fleet)
        self._fleet = fleet
        self._following = self._begun(kept)
        return self._stepped(frozenset())

    def placed(self) -> dict[str, set[str]]:
        """Models, by the id of the node that serves them; those that are short included."""
        found: dict[str, set[str]] = {}
        places = [(place.model, place.node) for place in self.plan.place_of]
        for model, node in (*places, *self._stopgaps.items()):
            found.setdefault(self._fleet.nodes[node].name, set()).add(self._names[model])
        return found

    def held(self) -> set[str]:
        """Ids of nodes that are in use, or kept up for those that sleep."""
        nodes = self.plan.held | set(self._stopgaps.values())
        return {self._fleet.nodes[node].name for node in nodes}

    def shortfalls(self) -> dict[str, str]:
        """Why models have fewer replicas than their rates need."""
        return {
            self._names[one.service]: f"{one.rate_per_s:.3g} queries/s: {one.reason}"
            for one in self.plan.shortfalls
        }

    def _begun(self, plan: ClusterPlan | None) -> Following:
        made = Following(self._planner, self._models, self._fleet, self._estimate, self._sleep)
        made.plan = plan
        return made

    def _stepped(self, waking: Set[str]) -> ClusterPlan:
        mask = np.array([name in waking for name in self._names])
        self.plan = self._following.step(self._seen, mask, self._window_s)
        self._stopgaps = stopgaps(self.plan, self._models, self._fleet)
        return self.plan


def moved_to(plan: ClusterPlan, before: Fleet, after: Fleet) -> ClusterPlan:
    """What of a plan is left on nodes of the same names in another fleet."""
    place = {node.name: index for index, node in enumerate(after.nodes)}
    new = [place.get(node.name, -1) for node in before.nodes]
    kept = [index for index, strip in enumerate(plan.strips) if new[strip.node] >= 0]
    number = {index: count for count, index in enumerate(kept)}
    strips = (plan.strips[index] for index in kept)
    moved = tuple(strip._replace(node=new[strip.node]) for strip in strips)
    replicas = tuple(
        replica._replace(strip=number[replica.strip])
        for replica in plan.replicas
        if replica.strip in number
    )
    warm = frozenset(new[node] for node in plan.warm if new[node] >= 0)
    return replace(plan, strips=moved, replicas=replicas, warm=warm)
