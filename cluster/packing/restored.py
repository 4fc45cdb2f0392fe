"""A plan that serves, put back on racks, so that it can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from surplus.cluster.frame.cluster_demand import ClusterDemand
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
    for replica in plan.replicas:
        strip = plan.strips[replica.strip]
        if strip.node in lost:
            continue
        if replica.strip not in places:
            sort_of = class_of(strip.share_percent, strip.period_ns, strip.cyclic)
            kind = fleet.nodes[strip.node].kind
            sort = -1 if sort_of is None else kind * CLASSES + sort_of
            device = racks.device_of(strip.node, strip.device)
            places[replica.strip] = racks.add(device, *strip[2:], sort)
        place = places[replica.strip]
        sort = racks.sort(place)
        load = 1.0
        if sort >= 0:
            own = offers[replica.model].load_of(sort, replica.batch, replica.rate_per_s)
            load = own if isfinite(own) else 1.0
        seat = Seat(replica.batch, replica.rate_per_s, load, replica.memory_bytes)
        twin = racks.seats(place).get(replica.model)
        racks.seat(place, replica.model, _joined(twin, seat) if twin else seat)
    return racks


def _joined(one: Seat, other: Seat) -> Seat:
    """One replica for two turns of a model."""
    return Seat(
        max(one.batch, other.batch),
        one.rate_per_s + other.rate_per_s,
        one.load + other.load,
        one.memory_bytes,
    )
