"""One deployment a model, as KServe and Ray Serve have it: replicas that nobody shares.

Each model's replicas are alike: the share and batch of an expert's deployment, the one that costs
least a query, or a whole device each, as Kubernetes gives GPUs out by whole numbers. A rate is
served by as many as are needed at a target utilisation, by one at least. Replicas are packed onto
nodes where they fit best; nodes that are half empty are emptied where others have room, as
Kubernetes' cluster autoscaler does.
"""

from __future__ import annotations

from math import ceil

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.cluster_planner import CLUSTER_PLANNERS
from surplus.cluster.packing.draining import drain
from surplus.cluster.packing.offers import Offers
from surplus.cluster.packing.packer import Packer
from surplus.cluster.packing.racks import Racks
from surplus.cluster.packing.restored import restored
from surplus.cluster.planners.packing_planner import PackingPlanner
from surplus.colocation.frame.deployment import Shortfall

_HALF_PERCENT = 50


@CLUSTER_PLANNERS.register("per_model")
class PerModel(PackingPlanner):
    """Replicas by rate, model for model.

    Parameters
    ----------
    utilisation : float
        Part of what a replica can serve in time that it is to serve; > 0 and <= 1.
    whole : bool
        Whether a replica is a whole device.
    most_moves : int
        Replicas that may move at a time when nodes are half empty; >= 0.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(self, utilisation: float = 0.8, whole: bool = False, most_moves: int = 40) -> None:
        if not 0 < utilisation <= 1:
            raise ValueError(f"utilisation must be > 0 and <= 1, got {utilisation}")
        super().__init__(False, "whole" if whole else "all", most_moves)
        self._utilisation = utilisation

    def plan(self, demand: ClusterDemand) -> ClusterPlan:
        """Add replicas and take some away."""
        offers = self.offers(demand)
        racks = restored(demand, offers)
        packer = Packer(racks, offers, demand.fleet.kinds)
        where: list[list[int]] = [[] for _ in offers]
        for strip in racks.strips():
            for model in racks.seats(strip):
                where[model].append(strip)
        counts = [self._count(*row) for row in zip(offers, demand.rates_per_s, strict=True)]
        for model, count in enumerate(counts):
            _remove(racks, model, where[model], count)
        shortfalls = []
        for model, count in enumerate(counts):
            missing = _add(packer, model, count - len(where[model]))
            if missing:
                rate_per_s = demand.rates_per_s[model] * missing / count
                reason = f"no place for {missing} of {count} replicas"
                shortfalls.append(Shortfall(model, rate_per_s, reason))
        _spread(racks, demand)
        drain(packer, self._most_moves, _HALF_PERCENT)
        return racks.plan(shortfalls)

    def _count(self, offers: Offers, rate_per_s: float) -> int:
        """Replicas that a rate needs."""
        if rate_per_s <= 0:
            return 0
        most_per_s = offers.own[0].rate_per_s if offers.own else float("inf")
        return max(1, ceil(rate_per_s / (most_per_s * self._utilisation) - 1e-9))


def _remove(racks: Racks, model: int, where: list[int], count: int) -> None:
    """Take replicas beyond a number away, from the emptiest nodes first."""
    if len(where) <= count:
        return
    where.sort(key=lambda strip: -racks.seats_on(racks.strip(strip).node))
    while len(where) > count:
        racks.unseat(where.pop(), model)


def _add(packer: Packer, model: int, count: int) -> int:
    """Add replicas; return how many found no place."""
    for added in range(count):
        if not packer.place_own(model, 1e-9):
            return count - added
    return 0


def _spread(racks: Racks, demand: ClusterDemand) -> None:
    """Give each replica of a model the same part of its rate."""
    seats = [(strip, model) for strip in racks.strips() for model in racks.seats(strip)]
    number: dict[int, int] = {}
    for _, model in seats:
        number[model] = number.get(model, 0) + 1
    for strip, model in seats:
        racks.set_rate(strip, model, demand.rates_per_s[model] / number[model])
