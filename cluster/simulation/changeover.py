"""What serves while replicas load: the old ones as long as there is memory for them.

A replica is loaded when its node has started and has loaded what was asked of it before. Until all
of a model's are, its replicas that have no place in the new plan serve on, each in the strip that
it had, unless the device's memory is needed. Shares are not counted meanwhile: for some seconds
such a device computes for both, as in gpulet (ATC'22), section 4.6, which counts no memory either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan, ModelCopy
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats, Ints
from surplus.cluster.queueing.strip_rows import StripRows, rows_of


class Changeover:
    """Follows plans.

    Parameters
    ----------
    models : sequence of ClusterModel
    fleet : Fleet

    Attributes
    ----------
    plan : ClusterPlan
    rows : StripRows
        Of the plan.
    leaving : StripRows
        Replicas of earlier plans that serve on.
    ready_ns, first_ns : array of float
        When all of a model's replicas are loaded, and the first one; 0 of one without.
    moves : int
        Replicas that were loaded so far.
    """

    def __init__(self, models: Sequence[ClusterModel], fleet: Fleet) -> None:
        self._models = models
        self._fleet = fleet
        self.plan = ClusterPlan()
        self.rows = rows_of(self.plan, models, fleet)
        self.leaving = self.rows
        self._leaving_places: list[ModelCopy] = []
        self.ready_ns: Floats = np.zeros(len(models))
        self.first_ns: Floats = np.zeros(len(models))
        self._loaded_ns: dict[ModelCopy, float] = {}
        self._node_ns: dict[int, float] = {}
        self.moves = 0

    @property
    def nodes(self) -> set[int]:
        """Nodes that are held: in use, or not free of old replicas yet."""
        return {place.node for place in self._leaving_places} | self.plan.held

    @property
    def node_loaded_ns(self) -> dict[int, float]:
        """When all replicas of the plan are loaded, by node in use."""
        found: dict[int, float] = {}
        for place, loaded_ns in self._loaded_ns.items():
            found[place.node] = max(found.get(place.node, loaded_ns), loaded_ns)
        return found

    def take(self, plan: ClusterPlan, now_ns: float, asked_ns: Floats) -> None:
        """Begin to change over to a plan.

        Parameters
        ----------
        asked_ns : array of float
            By model: when loading can begin, if that is later than now.
        """
        self._forget(now_ns)
        if plan is self.plan:
            return
        old_rows, old_places = self.rows, self.plan.place_of
        served = [k for k, place in enumerate(old_places) if self._loaded_ns[place] <= now_ns]
        self._load(plan, now_ns, asked_ns)
        self.plan, self.rows = plan, rows_of(plan, self._models, self._fleet)
        self._note_ready()
        gone = [k for k in served if old_places[k] not in self._loaded_ns]
        self.leaving = self.leaving.beside(_picked(old_rows, gone))
        self._leaving_places += [old_places[k] for k in gone]
        self._forget(now_ns)
        self._evict()

    def serving(self, now_ns: float) -> StripRows:
        """Replicas that are loaded: the plan's, and those that leave."""
        loaded = np.array(
            [self._loaded_ns[place] <= now_ns for place in self.plan.place_of], np.bool_
        )
        return self.rows.only(loaded).beside(self.leaving)

    def _load(self, plan: ClusterPlan, now_ns: float, asked_ns: Floats) -> None:
        """Note when each replica of a plan is loaded."""
        held = self.nodes
        self._node_ns = {node: t for node, t in self._node_ns.items() if node in held}
        for node in plan.held - held:
            self._node_ns[node] = now_ns + self._fleet.kind(node).start_ns
        loaded = {place: t for place, t in self._loaded_ns.items() if place in plan.places}
        for place in sorted(plan.places - loaded.keys()):
            kind = self._fleet.kind(place.node)
            ready_ns = self._node_ns.get(place.node, now_ns)
            begin_ns = max(now_ns, ready_ns, float(asked_ns[place.model]))
            loaded[place] = begin_ns + kind.load_ns(self._bytes(place))
            self._node_ns[place.node] = loaded[place]
        self.moves += len(loaded.keys() - self._loaded_ns.keys())
        self._loaded_ns = loaded

    def _note_ready(self) -> None:
        last = np.zeros(len(self._models))
        first = np.full(len(self._models), np.inf)
        for place, loaded_ns in self._loaded_ns.items():
            last[place.model] = max(last[place.model], loaded_ns)
            first[place.model] = min(first[place.model], loaded_ns)
        self.ready_ns, self.first_ns = last, np.where(np.isfinite(first), first, 0.0)

    def _forget(self, now_ns: float) -> None:
        """Let those go whose successors are loaded."""
        kept = [
            k for k, place in enumerate(self._leaving_places) if self.ready_ns[place.model] > now_ns
        ]
        self._keep(kept)

    def _evict(self) -> None:
        """Let those go whose memory is needed."""
        held: dict[tuple[int, int], int] = defaultdict(int)
        for place in [*self._loaded_ns, *self._leaving_places]:
            held[place.node, place.device] += self._bytes(place)
        kept = [
            k
            for k, place in enumerate(self._leaving_places)
            if held[place.node, place.device] <= self._fleet.kind(place.node).memory_bytes
        ]
        self._keep(kept)

    def _bytes(self, place: ModelCopy) -> int:
        return self._models[place.model].service.memory_bytes

    def _keep(self, kept: list[int]) -> None:
        if len(kept) < len(self._leaving_places):
            self.leaving = _picked(self.leaving, kept)
            self._leaving_places = [self._leaving_places[k] for k in kept]


def _picked(rows: StripRows, places: list[int]) -> StripRows:
    index: Ints = np.array(places, np.int64)
    mask = np.zeros(len(rows.model), np.bool_)
    mask[index] = True
    return rows.only(mask)
