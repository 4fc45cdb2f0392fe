"""An independent judge of deployments with duty cycles: it knows profiles and targets only.

Who comes just after its turn waits for a whole cycle, and is then computed: ``duty + L <= SLO``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.planner import Demand


class PlannedBatch(NamedTuple):
    """What a turn computes: items of a service on a share."""

    service: int
    items: int
    share_percent: int


Slowdown = Callable[[PlannedBatch, Sequence[PlannedBatch]], float]
"""A batch and those on the rest of its device -> what its times are multiplied with."""

_ROUNDING = 1e-6


def validate_plan(
    demand: Demand, deployment: Deployment, slowdown: Slowdown | None = None
) -> list[str]:
    """List the promises that a deployment's cycles do not keep; empty if they keep all.

    Parameters
    ----------
    demand : Demand
        With the rates that were planned for.
    deployment : Deployment
        One whose assignments have a duty cycle.
    slowdown : callable, optional
        Interference that the cycles have to stand; None for none.
    """
    judge = _Judge(demand, deployment, slowdown)
    found = [text for index in range(len(deployment.partitions)) for text in judge.cycle(index)]
    return [*found, *judge.rates()]


class _Judge:
    def __init__(self, demand: Demand, deployment: Deployment, slowdown: Slowdown | None) -> None:
        self._demand = demand
        self._deployment = deployment
        self._slowdown = slowdown

    def cycle(self, partition: int) -> Iterator[str]:
        """Targets, turns and rates of one partition."""
        rows = self._deployment.of_partition[partition]
        used_ns = 0.0
        for row in rows:
            took_ns = self._took_ns(row)
            duty_ns = row.duty_ns or 0
            slo_ns = self._demand.services[row.service].slo_ns
            used_ns += took_ns
            if duty_ns + took_ns > slo_ns * (1 + _ROUNDING):
                text = f"{duty_ns} + {took_ns:.0f} ns exceed its target of {slo_ns} ns"
                yield f"partition {partition}, service {row.service}: {text}"
            coming = duty_ns * row.rate_per_s / NS_PER_S * self._demand.items[row.service]
            if coming > row.batch * (1 + _ROUNDING):
                text = f"{coming:.3f} items come in a cycle, {row.batch} are served"
                yield f"partition {partition}, service {row.service}: {text}"
        shortest_ns = min((row.duty_ns or 0 for row in rows), default=0)
        if used_ns > shortest_ns * (1 + _ROUNDING):
            yield f"partition {partition}: turns of {used_ns:.0f} ns in {shortest_ns} ns"

    def rates(self) -> Iterator[str]:
        """Every rate is placed or said to be short."""
        for service, rate_per_s in enumerate(self._demand.rates_per_s):
            placed = (a.rate_per_s for a in self._deployment.assignments if a.service == service)
            short = (s.rate_per_s for s in self._deployment.shortfalls if s.service == service)
            given_per_s = sum(placed) + sum(short)
            if given_per_s < rate_per_s * (1 - _ROUNDING):
                yield f"service {service}: {given_per_s} of {rate_per_s} a second are planned"

    def _took_ns(self, row: Assignment) -> float:
        partitions = self._deployment.partitions
        own = partitions[row.partition]
        took_ns = float(self._demand.latency_ns(row.service, row.batch, own.share_percent))
        if self._slowdown is None:
            return took_ns
        beside = [
            PlannedBatch(a.service, a.batch, partitions[a.partition].share_percent)
            for a in self._deployment.assignments
            if a.partition != row.partition and partitions[a.partition].device == own.device
        ]
        return took_ns * self._slowdown(
            PlannedBatch(row.service, row.batch, own.share_percent), beside
        )
