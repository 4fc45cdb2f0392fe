"""Squishy bin packing: whole devices for what saturates them, duty cycles for the rest.

References
----------
Nexus (SOSP'19), section 6.1, Algorithm 1. As in the published code: a batch of ``b`` queries is
collected in ``(b - 1) / rate``; models by unassigned rate, descending; batches of a merged cycle
are ``ceil(duty x rate)``; latencies are mean plus deviation, times a safety factor. Departure:
every latency is checked again after a merge, duty + L <= SLO for each member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Assignment, Deployment, Shortfall
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition


@dataclass(frozen=True)
class _Member:
    """A share of a service's rate on a device; ``batch`` counts queries."""

    service: int
    rate_per_s: float
    batch: int
    took_ns: int


@dataclass(frozen=True)
class _Node:
    """A device with a duty cycle."""

    duty_ns: int
    members: tuple[_Member, ...]

    @property
    def occupancy(self) -> float:
        """Share of the cycle that is used."""
        return sum(member.took_ns for member in self.members) / self.duty_ns


@PLANNERS.register("nexus")
class Nexus:
    """Packs services onto devices.

    Parameters
    ----------
    safety : float
        Factor on profiled latencies; >= 1.
    overhead_ns : int
        Network, pre- and post-processing, taken off every target.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(self, safety: float = 1.0, overhead_ns: int = 0) -> None:
        if not 1 <= safety < float("inf") or overhead_ns < 0:
            raise ValueError(f"safety >= 1 and overhead_ns >= 0, got {safety} and {overhead_ns}")
        self._safety = safety
        self._overhead_ns = overhead_ns

    def plan(self, demand: Demand) -> Deployment:
        """Fill devices with saturating services first, then pack what is left."""
        packing = _Packing(demand, self._safety, self._overhead_ns)
        order = sorted(range(len(demand.services)), key=lambda s: (-demand.rates_per_s[s], s))
        residues = [packing.saturate(service) for service in order]
        order = sorted(range(len(order)), key=lambda k: (-residues[k][1], residues[k][0]))
        for place in order:
            packing.pack(*residues[place])
        return packing.deployment()


class _Packing:
    def __init__(self, demand: Demand, safety: float, overhead_ns: int) -> None:
        self._demand = demand
        self._safety = safety
        self._overhead_ns = overhead_ns
        self._nodes: list[_Node] = []
        self._shortfalls: list[Shortfall] = []

    def saturate(self, service: int) -> tuple[int, float]:
        """Give a service the whole devices that it fills; return it and the rate left over."""
        rate_per_s = self._demand.rates_per_s[service]
        batch = self._largest(service, lambda b: 2 * self._took_ns(service, b))
        if not batch:
            alone_ns = self._took_ns(service, 1)
            slo_ns = self._slo_ns(service)
            reason = f"2 x {alone_ns} ns exceed the target of {slo_ns} ns even alone"
            self._shortfalls.append(Shortfall(service, rate_per_s, reason))
            return service, 0.0
        took_ns = self._took_ns(service, batch)
        full_per_s = batch * NS_PER_S / took_ns
        while rate_per_s >= full_per_s and self._has_room:
            self._nodes.append(_Node(took_ns, (_Member(service, full_per_s, batch, took_ns),)))
            rate_per_s -= full_per_s
        return service, rate_per_s

    def pack(self, service: int, rate_per_s: float) -> None:
        """Merge a residue into the fullest cycle that takes it, or open a device for it."""
        if rate_per_s <= 0:
            return
        own = self._residue(service, rate_per_s)
        merged = [(k, self._merge(node, own)) for k, node in enumerate(self._nodes)]
        fitting = [(node.occupancy, -k, node) for k, node in merged if node is not None]
        if fitting:
            _, place, node = max(fitting, key=lambda row: row[:2])
            self._nodes[-place] = node
        elif self._has_room:
            self._nodes.append(own)
        else:
            reason = f"all {len(self._nodes)} devices are full"
            self._shortfalls.append(Shortfall(service, rate_per_s, reason))

    def deployment(self) -> Deployment:
        """Each node becomes a whole device."""
        items = self._demand.items
        rows = [(device, n.duty_ns, m) for device, n in enumerate(self._nodes) for m in n.members]
        return Deployment(
            partitions=tuple(Partition(device) for device in range(len(self._nodes))),
            assignments=tuple(
                Assignment(m.service, device, m.batch * items[m.service], duty_ns, m.rate_per_s)
                for device, duty_ns, m in rows
            ),
            shortfalls=tuple(self._shortfalls),
        )

    @property
    def _has_room(self) -> bool:
        return len(self._nodes) < len(self._demand.devices)

    def _slo_ns(self, service: int) -> int:
        return self._demand.services[service].slo_ns - self._overhead_ns

    def _most(self, service: int) -> int:
        return self._demand.services[service].max_batch // self._demand.items[service]

    def _took_ns(self, service: int, batch: int) -> int:
        items = batch * self._demand.items[service]
        spread = self._demand.profiles[service].spread(items, self._demand.sequences[service])
        return round(self._demand.latency_ns(service, items) * (1 + spread) * self._safety)

    def _largest(self, service: int, worst_ns: Callable[[int], float]) -> int:
        """Largest batch whose worst latency is within the target; 0 if none is."""
        fitting = (b for b in range(self._most(service), 0, -1) if self._fits(service, worst_ns(b)))
        return next(fitting, 0)

    def _fits(self, service: int, worst_ns: float) -> bool:
        return worst_ns <= self._slo_ns(service)

    def _residue(self, service: int, rate_per_s: float) -> _Node:
        gap_ns = NS_PER_S / rate_per_s

        def worst_ns(batch: int) -> float:
            """Gathered behind a turn like its own, then computed."""
            took_ns = self._took_ns(service, batch)
            return max((batch - 1) * gap_ns, took_ns) + took_ns

        batch = max(1, self._largest(service, worst_ns))
        took_ns = self._took_ns(service, batch)
        duty_ns = max(took_ns, int(min(self._slo_ns(service) - took_ns, batch * gap_ns)))
        return _Node(duty_ns, (_Member(service, rate_per_s, batch, took_ns),))

    def _merge(self, node: _Node, other: _Node) -> _Node | None:
        """One cycle of both; None unless it passes the acceptance test."""
        duty_ns = min(node.duty_ns, other.duty_ns)
        members = []
        for member in (*node.members, *other.members):
            batch = max(1, -int(-duty_ns * member.rate_per_s // NS_PER_S))
            if batch > self._most(member.service):
                return None
            took_ns = self._took_ns(member.service, batch)
            if duty_ns + took_ns > self._slo_ns(member.service):
                return None
            members.append(replace(member, batch=batch, took_ns=took_ns))
        if sum(member.took_ns for member in members) > duty_ns or self._twice(members):
            return None
        return _Node(duty_ns, tuple(members))

    def _twice(self, members: list[_Member]) -> bool:
        """Whether a service would have two turns in one cycle."""
        return len({member.service for member in members}) < len(members)
