"""Planners of co-location on all devices of a cluster, a kind of node after the other.

They see the devices of all nodes as those of one server, and plan from nothing each time, as their
papers do. What the cheapest kind has no place for is planned for on the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.cluster.frame.cluster_demand import ClusterDemand
from surplus.cluster.frame.cluster_model import misfit
from surplus.cluster.frame.cluster_plan import ClusterPlan, Replica, Strip
from surplus.colocation.frame.deployment import Deployment, Shortfall
from surplus.colocation.frame.planner import Demand, Planner


@dataclass
class _Found:
    """What is placed so far, and the rates that are not."""

    left_per_s: list[float]
    strips: list[Strip] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)


def plan_as_one_server(planner: Planner, demand: ClusterDemand) -> ClusterPlan:
    """Ask a planner of co-location.

    Raises
    ------
    ValueError
        If a model fits no node.
    """
    demand.check()
    fleet = demand.fleet
    found = _Found(list(demand.rates_per_s))
    for kind in sorted(range(len(fleet.kinds)), key=lambda k: fleet.kinds[k].price_per_hour):
        _plan_on(kind, planner, demand, found)
    reason = f"{len(fleet.nodes)} nodes have no place for it"
    left = [(k, rate) for k, rate in enumerate(found.left_per_s) if rate > 0]
    shortfalls = tuple(Shortfall(k, rate, reason) for k, rate in left)
    return ClusterPlan(tuple(found.strips), tuple(found.replicas), shortfalls)


def _plan_on(kind: int, planner: Planner, demand: ClusterDemand, found: _Found) -> None:
    """Place on one kind of node what has no place yet."""
    fleet, of = demand.fleet, demand.fleet.kinds[kind]
    places = [
        (node, device)
        for node, own in enumerate(fleet.nodes)
        for device in range(of.devices)
        if own.kind == kind and node not in demand.lost
    ]
    models = [
        k
        for k, rate in enumerate(found.left_per_s)
        if rate > 0 and misfit(demand.models[k], of) is None
    ]
    if not places or not models:
        return
    own = [demand.models[k] for k in models]
    deployment = planner.plan(
        Demand(
            services=tuple(model.service for model in own),
            profiles=tuple(model.profiles[of.name] for model in own),
            rates_per_s=tuple(found.left_per_s[k] for k in models),
            items=tuple(model.items for model in own),
            sequences=tuple(model.sequence for model in own),
            devices=tuple(fleet.nodes[node].devices[device] for node, device in places),
        )
    )
    _add(deployment, models, places, demand, found)


def _add(
    deployment: Deployment,
    models: list[int],
    places: list[tuple[int, int]],
    demand: ClusterDemand,
    found: _Found,
) -> None:
    for partition, assignments in zip(deployment.partitions, deployment.of_partition, strict=True):
        if not assignments:
            continue
        duty_ns = max(1, *(assignment.duty_ns or 1 for assignment in assignments))
        where = places[partition.device]
        for assignment in assignments:
            k = models[assignment.service]
            model = demand.models[k]
            batch = max(1, assignment.batch // model.items)
            own = (assignment.rate_per_s, model.service.memory_bytes)
            found.replicas.append(Replica(k, len(found.strips), batch, *own))
        found.strips.append(Strip(*where, partition.share_percent, duty_ns, True))
    for k in models:
        found.left_per_s[k] = 0.0
    for shortfall in deployment.shortfalls:
        k = models[shortfall.service]
        most_per_s = demand.rates_per_s[k]
        found.left_per_s[k] = min(most_per_s, found.left_per_s[k] + shortfall.rate_per_s)
