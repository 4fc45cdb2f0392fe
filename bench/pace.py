"""How fast a machine was during a live run, second by second, as the run's own groups tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from colocation import Scenario
from colocation.clock import NS_PER_S
from colocation.profile import part_ns
from colocation.record import NEVER_NS
from colocation.simulator import Run
from colocation.truth import Pace

WINDOW_NS = NS_PER_S


class Timed(NamedTuple):
    """A group of one piece: its service, start and time, and what the profile says."""

    service: int
    start_ns: int
    took_ns: int
    profiled_ns: float


def pace_of(scenario: Scenario, run: Run, window_ns: int = WINDOW_NS) -> Pace:
    """Time of groups over that of the profile: by service, and what is left by window of starts.

    Groups of several pieces do not count; a window without others is like the one before it. What
    neighbours cost each other is in it.
    """
    timed = list(_timed(scenario, run))
    overall = _ratio(timed)
    services = tuple(
        _ratio([own for own in timed if own.service == service]) or overall or 1.0
        for service in range(len(scenario.services))
    )
    left = [own._replace(profiled_ns=own.profiled_ns * services[own.service]) for own in timed]
    by_window: dict[int, list[Timed]] = {}
    for own in left:
        by_window.setdefault(own.start_ns // window_ns, []).append(own)
    factors = [1.0]
    for window in range(max(by_window, default=0) + 1):
        factors.append(_ratio(by_window.get(window, ())) or factors[-1])
    return Pace(window_ns, tuple(factors[1:]), services)


def _ratio(timed: Iterable[Timed]) -> float:
    """Sum of the times over that of the profile's; 0 if there are none."""
    rows = list(timed)
    profiled_ns = sum(own.profiled_ns for own in rows)
    return sum(own.took_ns for own in rows) / profiled_ns if rows else 0.0


def _timed(scenario: Scenario, run: Run) -> Iterator[Timed]:
    record = run.record
    several = {a for a, b in pairwise(record.piece_group) if a == b}
    for piece, group in enumerate(record.piece_group):
        start_ns, end_ns = record.group_start_ns[group], record.group_end_ns[group]
        if group in several or end_ns == NEVER_NS:
            continue
        service = record.piece_service[piece]
        tenant = scenario.tenants[service]
        partition = run.deployment.partitions[record.group_partition[group]]
        share = partition.share_percent
        if partition.cores:
            share = max(1, share * record.group_cores[group] // partition.cores)
        whole_ns = tenant.profile.latency_ns(record.piece_items[piece], 0, share)
        ends = (record.piece_start[piece], record.piece_end[piece])
        profiled_ns = part_ns(whole_ns, *ends, tenant.service.operators)
        yield Timed(service, start_ns, end_ns - start_ns, profiled_ns)
