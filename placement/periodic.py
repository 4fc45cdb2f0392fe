"""Periodic schedules: a query each interval, all alike, so that the busiest resource never rests.

A device of ``n`` lanes gives each query a lane of its own, which is another query's ``n`` intervals
later. So what it does for one query has to fit into ``n`` intervals, however long its tasks are,
and what a link or a submitting thread does into one. Precedence costs no throughput: a task whose
turn is over when it becomes ready takes that turn of a later interval. A resource with little to
spare can be filled without gaps, by whatever waits least for its turn; or else each job takes the
first gap that is long enough.

Tasks of several lanes share a device as the widest does: ``floor(lanes / widest)`` groups of lanes
rotate. That may need a longer interval than the load; both are told.

References
----------
Rau: Iterative Modulo Scheduling, MICRO 1994 (reservation tables modulo the interval). Departures:
lanes rotate between queries, so that one never competes with itself for them; a graph without
cycles needs no iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.memory import capacities
from surplus.placement.occupancy import busiest_of, crowded_lanes
from surplus.placement.periodic_attempt import LaneGroups, PeriodicAttempt
from surplus.placement.periodic_jobs import PeriodicJob, held_by, jobs_of
from surplus.placement.periodic_memory import periodic_peaks_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.widths import molded

_GROWTH = (0.0, 0.005, 0.01, 0.015, 0.0199, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""By how much longer than the load intervals are tried; then one query after the other."""

_FILLED_FROM = (0.9, math.inf, 0.0)
"""Shares of its time from which a resource is filled without gaps: a busy one, none, each. With the
last, and nothing that holds two resources at once, the load itself is always enough."""


@dataclass(frozen=True)
class PeriodicSchedule:
    """One query's timeline, and how often another one begins.

    Parameters
    ----------
    interval_ns : int
        Between the beginnings of two queries (initiation interval).
    load_ns : int
        What the busiest resource does for one query: no interval is shorter.
    busiest : str
        That resource.
    timeline : Timeline
        Of one query, in its own time, on the first group of each device's lanes.
    groups : mapping of str to LaneGroups
        By device.
    """

    interval_ns: int
    load_ns: int
    busiest: str
    timeline: Timeline
    groups: Mapping[str, LaneGroups]

    @property
    def latency_ns(self) -> int:
        """Of each query."""
        return self.timeline.makespan_ns

    @property
    def in_flight(self) -> int:
        """Queries that have begun and not ended, at most."""
        return max(1, math.ceil(self.latency_ns / self.interval_ns))

    def unrolled(self, queries: int) -> Timeline:
        """So many queries, each on its own lanes."""
        spans = (
            self._turned(span, query).later(query * self.interval_ns, query)
            for query in range(queries)
            for span in self.timeline
        )
        return Timeline.of(spans, self.timeline.origin)

    def circle(self) -> Timeline:
        """Two rounds of all groups of lanes, alike, when queries have come for long.

        A span of each query of a round stands beside all that are there at its time, of whatever
        queries. They begin a round after the clock does: threads submit before tasks start.
        """
        queries = math.lcm(*(groups.count for groups in self.groups.values()))
        round_ns = queries * self.interval_ns
        within = [
            span.later(-(span.start_ns // round_ns) * round_ns) for span in self.unrolled(queries)
        ]
        both = (span.later(rounds * round_ns) for rounds in (1, 2) for span in within)
        return Timeline.of(both, self.timeline.origin)

    def _turned(self, span: Span, query: int) -> Span:
        if span.kind is SpanKind.COPY:
            return span
        groups = self.groups[span.resource]
        first = query % groups.count * groups.size
        return replace(span, lanes=tuple(lane + first for lane in span.lanes))


def periodic_schedule(
    problem: Problem, placement: Placement, slack: float = 0.02
) -> PeriodicSchedule:
    """Let queries of a placement overlap without end.

    Parameters
    ----------
    slack : float
        By how much longer than the least interval that is found another may be, if a query's
        latency is shorter with it, >= 0.

    Raises
    ------
    InfeasibleError
        If the memories do not even hold one query at a time.
    """
    return best_within(periodic_schedules(problem, placement, slack), slack)


def best_within(found: Sequence[PeriodicSchedule], slack: float) -> PeriodicSchedule:
    """The one of the least latency among those whose interval is hardly longer than the least."""
    longest_ns = (1 + slack) * found[0].interval_ns
    within = (schedule for schedule in found if schedule.interval_ns <= longest_ns)
    return min(within, key=lambda schedule: (schedule.latency_ns, schedule.interval_ns))


def periodic_schedules(
    problem: Problem, placement: Placement, slack: float
) -> list[PeriodicSchedule]:
    """All that are tried and fit, the least interval first; the others as ``periodic_schedule``.

    Raises
    ------
    InfeasibleError
        As there.
    """
    problem = molded(problem, placement)
    jobs, groups = jobs_of(problem, placement), dict(_groups(problem, placement))
    busiest, load_ns = busiest_of(problem, placement)
    found: list[PeriodicSchedule] = []
    for interval_ns in _intervals(max(1, load_ns), jobs):
        if found and interval_ns > (1 + slack) * found[0].interval_ns:
            break
        for share in _FILLED_FROM:
            attempt = PeriodicAttempt(
                problem, placement, jobs, groups, interval_ns, filled_from=share
            )
            if (spans := attempt.spans()) is None:
                continue
            timeline = Timeline.of(spans, f"periodic, {placement.policy}")
            schedule = PeriodicSchedule(interval_ns, load_ns, busiest, timeline, groups)
            if _fits(problem, placement, schedule):
                found.append(schedule)
    if not found:
        raise InfeasibleError("the memories do not hold what one query of this placement needs")
    return found


def _fits(problem: Problem, placement: Placement, schedule: PeriodicSchedule) -> bool:
    """Whether the memories hold as many queries as there are at once."""
    limits = capacities(problem)
    if not limits or not problem.tasks:
        return True
    peaks = periodic_peaks_bytes(problem, placement, schedule.timeline, schedule.interval_ns)
    return all(peaks[memory] <= limit for memory, limit in limits.items())


def _groups(problem: Problem, placement: Placement) -> Iterator[tuple[str, LaneGroups]]:
    widths: dict[int, int] = {}
    for task, d in enumerate(placement.device_of):
        widths[d] = max(widths.get(d, 1), problem.tasks[task].width(d))
    for d, device in enumerate(problem.devices):
        size = widths.get(d, 1)
        yield device.name, LaneGroups(max(1, crowded_lanes(device) // size), size)


def _intervals(load_ns: int, jobs: list[PeriodicJob]) -> Iterator[int]:
    yield from (math.ceil(load_ns * (1 + growth)) for growth in _GROWTH)
    yield sum(time_ns for _, time_ns in held_by(jobs)) + sum(job.latency_ns for job in jobs) + 1
