"""Judges a plan of a cluster, whoever made it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan, Replica, Strip
from surplus.cluster.frame.fleet import Fleet
from surplus.colocation.frame.clock import NS_PER_S

_ROUNDING = 1e-6


def check_plan(plan: ClusterPlan, models: Sequence[ClusterModel], fleet: Fleet) -> None:
    """Check what must hold whatever the queries do.

    Raises
    ------
    ValueError
        If a strip or replica is of nothing, a device gives away more than 100 % or more memory
        than it has, a batch is above its model's limit, has no time on its strip or cannot be in
        time even alone, or the turns of a strip take longer than there is time for. The message
        names the nodes and models, and the amounts.
    """
    for strip in plan.strips:
        _check_strip(strip, fleet)
    for node in plan.warm:
        _check_node(node, fleet)
    for replica in plan.replicas:
        _check_replica(replica, plan, models)
    _check_devices(plan, fleet)
    for index, members in sorted(_members(plan).items()):
        _check_turns(plan.strips[index], members, models, fleet)


def _check_node(node: int, fleet: Fleet) -> None:
    if not 0 <= node < len(fleet.nodes):
        raise ValueError(f"there is no node {node}; there are {len(fleet.nodes)}")


def _check_strip(strip: Strip, fleet: Fleet) -> None:
    _check_node(strip.node, fleet)
    node = fleet.nodes[strip.node]
    if not 0 <= strip.device < len(node.devices):
        text = f"there is no device {strip.device}; it has {len(node.devices)}"
        raise ValueError(f"node {node.name!r}: {text}")
    if not 1 <= strip.share_percent <= 100 or strip.period_ns < 1:
        text = f"a strip of {strip.share_percent} % and {strip.period_ns} ns"
        raise ValueError(f"node {node.name!r}: {text}")


def _check_replica(replica: Replica, plan: ClusterPlan, models: Sequence[ClusterModel]) -> None:
    if not 0 <= replica.model < len(models):
        raise ValueError(f"there is no model {replica.model}")
    if not 0 <= replica.strip < len(plan.strips):
        raise ValueError(f"there is no strip {replica.strip}")
    model = models[replica.model]
    if not 1 <= replica.batch <= model.most_queries:
        text = f"a batch of {replica.batch} queries; the most are {model.most_queries}"
        raise ValueError(f"model {model.name!r}: {text}")
    if replica.memory_bytes < model.service.memory_bytes:
        text = f"{replica.memory_bytes} bytes are counted of {model.service.memory_bytes}"
        raise ValueError(f"model {model.name!r}: {text}")
    if not 0 <= replica.rate_per_s < float("inf"):
        raise ValueError(f"model {model.name!r}: a rate of {replica.rate_per_s}")


def _check_devices(plan: ClusterPlan, fleet: Fleet) -> None:
    shares: dict[tuple[int, int], int] = defaultdict(int)
    held: dict[tuple[int, int], int] = defaultdict(int)
    for strip in plan.strips:
        shares[strip[:2]] += strip.share_percent
    for replica in plan.replicas:
        held[plan.strips[replica.strip][:2]] += replica.memory_bytes
    for (node, device), share_percent in sorted(shares.items()):
        where = f"node {fleet.nodes[node].name!r}, device {device}"
        if share_percent > 100:
            raise ValueError(f"{where} gives away {share_percent} %")
        limit = fleet.nodes[node].devices[device].memory_bytes
        if limit is not None and held[node, device] > limit:
            raise ValueError(f"{where}: {held[node, device]} bytes are placed in {limit}")


def _members(plan: ClusterPlan) -> dict[int, list[Replica]]:
    members: dict[int, list[Replica]] = defaultdict(list)
    for replica in plan.replicas:
        members[replica.strip].append(replica)
    return members


def _check_turns(
    strip: Strip, members: Sequence[Replica], models: Sequence[ClusterModel], fleet: Fleet
) -> None:
    node = fleet.nodes[strip.node]
    kind = fleet.kinds[node.kind].name
    where = f"node {node.name!r}, device {strip.device}, {strip.share_percent} %"
    taken = 0.0
    for member in members:
        model = models[member.model]
        took_ns = model.latency_ns(kind, member.batch, strip.share_percent)
        slo_ns = model.service.slo_ns
        worst_ns = took_ns + strip.period_ns
        if worst_ns > slo_ns * (1 + _ROUNDING):
            text = f"{strip.period_ns} ns of waiting and {took_ns} ns exceed {slo_ns} ns"
            raise ValueError(f"{where}: model {model.name!r}: {text}")
        taken += _taken(strip, member, took_ns)
    if taken > 1 + _ROUNDING:
        raise ValueError(f"{where}: turns take {100 * taken:.1f} % of the time")


def _taken(strip: Strip, member: Replica, took_ns: int) -> float:
    """Part of the strip's time: of a cycle the whole turn, otherwise what the rate comes to."""
    if strip.cyclic:
        return took_ns / strip.period_ns
    return member.rate_per_s * took_ns / member.batch / NS_PER_S
