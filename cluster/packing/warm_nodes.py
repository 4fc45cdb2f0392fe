"""Nodes that are kept up without replicas, for models that sleep and must be back soon."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.node_kind import NodeKind
from surplus.cluster.packing.offers import Offers
from surplus.cluster.packing.racks import Racks


def warm_nodes(racks: Racks, offers: Sequence[Offers], demand: ClusterDemand) -> frozenset[int]:
    """One node, if somebody who sleeps has no place on those in use and cannot wait for another.

    Which of them wakes is not known beforehand, so that one node is kept for all.
    """
    kinds = demand.fleet.kinds
    for own, rate_per_s in zip(offers, demand.rates_per_s, strict=True):
        if rate_per_s > 0 or not _is_urgent(own, kinds) or _has_place(racks, own, kinds):
            continue
        places = [racks.unused_device(kind) for kind in own.fitting]
        nodes = [int(racks.node_of[place]) for place in places if place >= 0]
        if nodes:
            return frozenset(nodes[:1])
    return frozenset()


def _is_urgent(own: Offers, kinds: Sequence[NodeKind]) -> bool:
    """Whether a model may sleep, but not until a node has started."""
    model = own.model
    needed = model.service.memory_bytes
    loads_ns = [(kinds[kind], kinds[kind].load_ns(needed)) for kind in own.fitting]
    return any(
        model.may_sleep(load_ns) and not model.may_sleep(kind.start_ns + load_ns)
        for kind, load_ns in loads_ns
    )


def _has_place(racks: Racks, own: Offers, kinds: Sequence[NodeKind]) -> bool:
    needed = own.model.service.memory_bytes
    return any(racks.free_percent(kind, needed) >= own.least_shares[kind] for kind in own.fitting)
