"""How fast a machine was during a live run, second by second, as the run's own groups tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from colocation import Scenario
from colocation.clock import NS_PER_S
from colocation.profile import part_ns
from colocation.record import NEVER_NS
from colocation.simulator import Run

WINDOW_NS = NS_PER_S


def pace_of(scenario: Scenario, run: Run, window_ns: int = WINDOW_NS) -> tuple[float, ...]:
    """Time of groups over that of the profile, summed over the groups that start in a window.

    Groups of several pieces do not count; a window without others is like the one before it.
    """
    took_ns: dict[int, int] = {}
    profiled_ns: dict[int, int] = {}
    for start_ns, own_ns, known_ns in _groups(scenario, run):
        window = start_ns // window_ns
        took_ns[window] = took_ns.get(window, 0) + own_ns
        profiled_ns[window] = profiled_ns.get(window, 0) + known_ns
    if not took_ns:
        return (1.0,)
    found = [took_ns[min(took_ns)] / profiled_ns[min(took_ns)]]
    for window in range(max(took_ns) + 1):
        found.append(took_ns[window] / profiled_ns[window] if window in took_ns else found[-1])
    return tuple(found[1:])


def _groups(scenario: Scenario, run: Run) -> list[tuple[int, int, int]]:
    """Start of each group of one piece, its time, and the profile's."""
    record = run.record
    owners: Sequence[int] = record.piece_group
    several = {a for a, b in pairwise(owners) if a == b}
    found = []
    for piece, group in enumerate(owners):
        start_ns, end_ns = record.group_start_ns[group], record.group_end_ns[group]
        if group in several or end_ns == NEVER_NS:
            continue
        tenant = scenario.tenants[record.piece_service[piece]]
        share = run.deployment.partitions[record.group_partition[group]].share_percent
        whole_ns = tenant.profile.latency_ns(record.piece_items[piece], 0, share)
        ends = (record.piece_start[piece], record.piece_end[piece])
        found.append(
            (start_ns, end_ns - start_ns, round(part_ns(whole_ns, *ends, tenant.service.operators)))
        )
    return found
