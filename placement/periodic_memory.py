"""What a periodic schedule needs of each memory, from the timeline of one of its queries.

Queries come for ever, one each interval, and all hold the same. So what a query holds for a time is
held by that time over the interval of them at once: its whole part always, one more while the rest
lasts. That is a circle of one interval, however many queries are in flight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from surplus.placement.memory import holdings, weights_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Timeline


def periodic_peaks_bytes(
    problem: Problem, placement: Placement, timeline: Timeline, interval_ns: int
) -> Mapping[str, int]:
    """Most bytes at once in each memory, constants included, when queries have come for long.

    Parameters
    ----------
    timeline : Timeline
        Of one query.
    interval_ns : int
        Between two queries, >= 1.
    """
    changes: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    peaks = weights_of(problem, placement)
    for holding in holdings(problem, placement, timeline):
        turns, rest_ns = divmod(holding.end_ns - holding.start_ns, interval_ns)
        begins_ns = holding.start_ns % interval_ns
        ends_ns = begins_ns + rest_ns
        row, size = changes[holding.memory], holding.size_bytes
        row[0] += size * (turns + (ends_ns > interval_ns))
        row[begins_ns] += size
        row[ends_ns % interval_ns] -= size
        if ends_ns == interval_ns:  # it ends where the circle does, and is not there at its start
            row[0] += size
    return {memory: base + _peak(changes[memory]) for memory, base in peaks.items()}


def _peak(changes: Mapping[int, int]) -> int:
    now = most = 0
    for instant in sorted(changes):
        now += changes[instant]
        most = max(most, now)
    return most
