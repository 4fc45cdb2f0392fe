"""Duty cycles of a gpulet: who has a turn, with what batch, and whether all are in time.

References
----------
gpulet (ATC'22), section 2.2 and 4.3; the batch arithmetic is that of the paper's release, but
what it yields is checked: ``duty + L <= SLO`` for every turn, turns fit the cycle, and
batches keep up with the rates. Departure: a service whose target is too short to gather even one
query may take turns of one query, ``SLO - L`` apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from surplus.colocation.policies.gpulet.latency_table import LatencyTable, Row

Rows = Callable[[int], Row]
"""Service -> its times by batch where it is to run, expected interference in them."""

_ROUNDING = 1e-9


class DutyTurn(NamedTuple):
    """A service's turn in each cycle; ``batch`` counts queries."""

    service: int
    rate_per_ns: float
    batch: int
    took_ns: float


class Cycle(NamedTuple):
    """A cycle of a gpulet; no turns where nobody is on it."""

    percent: int
    duty_ns: float
    turns: tuple[DutyTurn, ...]

    @property
    def occupancy(self) -> float:
        """Share of the cycle that is used."""
        return sum(turn.took_ns for turn in self.turns) / self.duty_ns


def saturated_cycle(table: LatencyTable, service: int, percent: int, row: Row) -> Cycle | None:
    """One batch after the other, as large as the target allows; None if not even one is."""
    batch = bisect_right(row, table.slos_ns[service] / 2) - 1
    if not batch:
        return None
    took_ns = row[batch]
    return Cycle(percent, took_ns, (DutyTurn(service, batch / took_ns, batch, took_ns),))


def residual_cycle(
    table: LatencyTable, service: int, percent: int, rate_per_ns: float, row: Row
) -> Cycle | None:
    """The largest batch that can be gathered and computed in time; None if none keeps up."""
    slo_ns = table.slos_ns[service]
    gap_ns = 1.0 / rate_per_ns
    worst_ns = lambda b: row[b] + b * gap_ns  # noqa: E731
    batch = bisect_right(range(len(row)), slo_ns, key=worst_ns) - 1
    if batch and row[batch] <= batch * gap_ns:
        took_ns = row[batch]
        return Cycle(percent, batch * gap_ns, (DutyTurn(service, rate_per_ns, batch, took_ns),))
    if batch + 1 == len(row):
        return None
    took_ns = row[batch + 1]
    duty_ns = slo_ns - took_ns
    if duty_ns < took_ns:
        return None
    return Cycle(percent, duty_ns, (DutyTurn(service, rate_per_ns, batch + 1, took_ns),))


def merged_cycle(
    table: LatencyTable, cycle: Cycle, other: Cycle, percent: int, rows: Rows
) -> Cycle | None:
    """Both cycles in one, of the shorter length, on a partition of a size; None if it is late."""
    duty_ns = min(cycle.duty_ns, other.duty_ns)
    turns: list[DutyTurn] = []
    left_ns = duty_ns
    for service, rate_per_ns, _, _ in (*cycle.turns, *other.turns):
        row = rows(service)
        batch = max(1, ceil(duty_ns * rate_per_ns - _ROUNDING))
        if batch >= len(row):
            return None
        took_ns = row[batch]
        left_ns -= took_ns
        if left_ns < 0 or duty_ns + took_ns > table.slos_ns[service]:
            return None
        turns.append(DutyTurn(service, rate_per_ns, batch, took_ns))
    return Cycle(percent, duty_ns, tuple(turns))
