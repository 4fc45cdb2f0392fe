"""A plan that serves, put back on racks, so that it can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_plan import Strip
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.packing.offers import Offers
from surplus.cluster.packing.racks import Racks, Seat
from surplus.cluster.packing.strip_classes import CLASSES, class_of


def restored(demand: ClusterDemand, offers: Sequence[Offers]) -> Racks:
    """Racks that hold the plan that serves, but for what it has on lost nodes.

    Strips whose periods are not of the grid can be joined by nobody. Empty without a plan.
    """
    plan, fleet, lost = demand.previous, demand.fleet, demand.lost
    if plan is None:
        return Racks(fleet, lost=lost)
    racks = Racks(fleet, plan.warm - lost, lost)
    places: dict[int, int] = {}
    strips: list[Strip] = []
    sorts: list[int] = []
    seats: list[dict[int, Seat]] = []
    for model, index, batch, rate_per_s, memory_bytes in plan.replicas:
        strip = plan.strips[index]
        if strip.node in lost:
            continue
        place = places.setdefault(index, len(strips))
        if place == len(strips):
            strips.append(strip)
            sorts.append(_sort_of(strip, fleet))
            seats.append({})
        load = 1.0
        if sorts[place] >= 0:
            own = offers[model].load_of(sorts[place], batch, rate_per_s)
            load = own if isfinite(own) else 1.0
        seat, twin = Seat(batch, rate_per_s, load, memory_bytes), seats[place].get(model)
        seats[place][model] = _joined(twin, seat) if twin else seat
    racks.fill(strips, sorts, seats)
    return racks


def _sort_of(strip: Strip, fleet: Fleet) -> int:
    sort = class_of(strip.share_percent, strip.period_ns, strip.cyclic)
    return -1 if sort is None else fleet.nodes[strip.node].kind * CLASSES + sort


def _joined(one: Seat, other: Seat) -> Seat:
    """One replica for two turns of a model."""
    return Seat(
        max(one.batch, other.batch),
        one.rate_per_s + other.rate_per_s,
        one.load + other.load,
        one.memory_bytes,
    )
