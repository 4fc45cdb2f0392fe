"""What the planners do alike that pack strips: from nothing, or from the plan that serves."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.packing.adjusting import Adjusting
from surplus.cluster.packing.draining import drain
from surplus.cluster.packing.neighbours import press_beside, slowed
from surplus.cluster.packing.offers import LEAST_PER_S, Offers, Sizes
from surplus.cluster.packing.packer import Packer
from surplus.cluster.packing.restored import restored
from surplus.cluster.packing.time_table import time_table
from surplus.cluster.packing.warm_nodes import warm_nodes
from surplus.cluster.queueing.overflow import Floats
from surplus.colocation.frame.deployment import Shortfall

_NOTHING = 1e-9
_MOST = 1 << 62


class PackingPlanner:
    """Packs a demand; keeps the offers of models that it has seen.

    Parameters
    ----------
    as_they_come : bool
        Whether light models may share strips without cycles.
    sizes : str
        Which strips models get; see ``Offers``.
    most_moves : int
        Replicas that may move, beyond those whose rates changed, when a plan is changed.
    interference : bool
        Allow for what neighbours cost, where profiles say how they use memory.
    """

    def __init__(
        self, as_they_come: bool, sizes: Sizes, most_moves: int, interference: bool = False
    ) -> None:
        if most_moves < 0:
            raise ValueError(f"most_moves must be >= 0, got {most_moves}")
        self._as_they_come = as_they_come
        self._sizes = sizes
        self._most_moves = most_moves
        self._interference = interference
        self._known: tuple[object, list[Offers]] = (None, [])

    def plan(self, demand: ClusterDemand) -> ClusterPlan:
        """Change the plan that serves, if there is one, else make one.

        Raises
        ------
        ValueError
            If a model fits no node.
        """
        offers = self.offers(demand)
        before = demand.previous
        racks = restored(demand, offers)
        packer = Packer(racks, offers, demand.fleet.kinds, self._as_they_come)
        shortfalls = _adjusted(packer, offers, demand)
        drain(packer, _MOST if before is None else self._most_moves)
        return racks.plan(shortfalls, warm_nodes(racks, offers, demand))

    def offers(self, demand: ClusterDemand) -> list[Offers]:
        """Of the demand's models; they do not change with the rates."""
        models, fleet = demand.models, demand.fleet
        known, offers = self._known
        if not _same(known, models, fleet):
            demand.check()
            tables = [self._tables(models, kind.name) for kind in fleet.kinds]
            offers = [
                Offers(model, fleet.kinds, own, self._sizes)
                for model, own in zip(models, zip(*tables, strict=True), strict=True)
            ]
            self._known = ((models, fleet), offers)
        return offers

    def _tables(self, models: Sequence[ClusterModel], kind: str) -> list[Floats]:
        """Times on a kind of node, by model."""
        tables = [time_table(model, kind) for model in models]
        if not self._interference:
            return tables
        press = press_beside(models, kind, tables)
        pairs = zip(tables, models, strict=True)
        return [slowed(table, model, kind, press) for table, model in pairs]


def _same(known: object, models: tuple[ClusterModel, ...], fleet: Fleet) -> bool:
    """Whether tables are of these very objects."""
    return isinstance(known, tuple) and known[0] is models and known[1] is fleet


def _adjusted(packer: Packer, offers: Sequence[Offers], demand: ClusterDemand) -> list[Shortfall]:
    """Shrink first, as that makes room; then who wakes, then who takes most before the rest."""
    adjusting = Adjusting(packer, offers)
    waking = set()
    growing: list[int] = []
    for model, rate_per_s in enumerate(demand.rates_per_s):
        held = adjusting.held_per_s(model)
        if held > rate_per_s * (1 + _NOTHING):
            adjusting.shrink(model, rate_per_s)
        elif held < rate_per_s * (1 - _NOTHING):
            growing.append(model)
            if demand.previous is not None and not held and demand.models[model].first_answer_ns:
                waking.add(model)
    weights = {model: _weight(offers[model], demand, model) for model in growing}
    growing.sort(key=lambda model: (model not in waking, -weights[model], model))
    left = []
    for model in growing:
        if model in waking:
            left.append((model, _woken(packer, demand, model)))
        else:
            left.append((model, adjusting.grow(model, demand.rates_per_s[model])))
    reason = f"{len(demand.fleet.nodes)} nodes have no place for it"
    return [Shortfall(model, rate, reason) for model, rate in left if rate > 0]


def _woken(packer: Packer, demand: ClusterDemand, model: int) -> float:
    """Serve a model again, on nodes that are up as far as they have room; return what is left."""
    rate_per_s = demand.rates_per_s[model]
    left = packer.place(model, rate_per_s, "up")
    if left == rate_per_s:
        least = min(LEAST_PER_S, rate_per_s)
        left = rate_per_s - least + packer.place(model, least, "up")
    return packer.place(model, left)


def _weight(offers: Offers, demand: ClusterDemand, model: int) -> float:
    """What a model takes of nodes: for its rate, or for its memory if that is more."""
    most = max(kind.memory_bytes for kind in demand.fleet.kinds)
    price = min(kind.price_per_hour / kind.devices for kind in demand.fleet.kinds)
    held = offers.model.service.memory_bytes / most * price
    cost = offers.own[0].cost if offers.own else 0.0
    return max(cost * demand.rates_per_s[model], held)
