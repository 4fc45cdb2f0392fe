"""One attempt at a periodic schedule: every job's instant, for an interval that is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from surplus.placement.circular_table import CircularTable
from surplus.placement.periodic_jobs import PeriodicJob, held_by
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind


@dataclass(frozen=True)
class LaneGroups:
    """How a device's lanes rotate: ``count`` groups of ``size`` lanes."""

    count: int
    size: int


class PeriodicAttempt:
    """A list schedule on tables that repeat themselves.

    Parameters
    ----------
    jobs : sequence of PeriodicJob
        Of one query.
    groups : mapping of str to LaneGroups
        By device: a lane comes again after ``count`` intervals.
    filled_from : float
        Resources that are held for at least this share of their time are filled without gaps.
    """

    def __init__(
        self,
        problem: Problem,
        placement: Placement,
        jobs: Sequence[PeriodicJob],
        groups: Mapping[str, LaneGroups],
        interval_ns: int,
        *,
        filled_from: float,
    ) -> None:
        self._problem = problem
        self._placement = placement
        self._jobs = jobs
        self._groups = groups
        self._interval_ns = interval_ns
        self._ready_ns = [0] * len(jobs)
        self._start_ns = [0] * len(jobs)
        self._waits_for = [job.waits_for for job in jobs]
        self._tables: dict[str, CircularTable] = {}
        self._turn_ns: dict[str, int | None] = {}
        """Of resources that are filled: the instant after what was put there last."""

        self._available: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """By resource: a heap of jobs, each after the instant at which it became ready."""

        held: dict[str, int] = defaultdict(int)
        for resource, time_ns in held_by(jobs):
            held[resource] += time_ns
        for resource, held_ns in held.items():
            table = CircularTable(self._period_ns(resource))
            self._tables[resource] = table
            if held_ns >= filled_from * table.period_ns:
                self._turn_ns[resource] = None

    def spans(self) -> list[Span] | None:
        """Of the query; None if something does not fit into the interval."""
        for first, waits in enumerate(self._waits_for):
            if not waits:
                self._offer(first)
        while (job := self._next()) is not None:
            if (start_ns := self._start(job)) is None:
                return None
            self._put(job, start_ns)
        return list(self._spans())

    def _period_ns(self, resource: str) -> int:
        groups = self._groups.get(resource)
        return self._interval_ns * (groups.count if groups is not None else 1)

    def _next(self) -> int | None:
        """What is ready first; or beside it, of a resource that is filled, what waits least."""
        rows = [row for row in self._available.values() if row]
        if not rows:
            return None
        row = min(rows, key=lambda row: row[0])
        turn_ns = self._turn_ns.get(resource := self._jobs[row[0][1]].resource)
        if turn_ns is None:
            return heappop(row)[1]
        period_ns = self._tables[resource].period_ns
        found = min(row, key=lambda entry: ((turn_ns - entry[0]) % period_ns, entry))
        row.remove(found)
        heapify(row)
        return found[1]

    def _offer(self, job: int) -> None:
        """It waits for nothing but its turn."""
        heappush(self._available[self._jobs[job].resource], (self._ready_ns[job], job))

    def _start(self, index: int) -> int | None:
        """The first instant from which both resource and thread are free for it."""
        job, ready_ns = self._jobs[index], self._ready_ns[index]
        table = self._tables[job.resource]
        turn_ns = self._turn_ns.get(job.resource)
        waits_ns = 0 if turn_ns is None else (turn_ns - ready_ns) % table.period_ns
        at = ready_ns + waits_ns
        # What is free at no instant of the longest period is not free at any.
        end_ns = at + max(table.period_ns, self._period_ns(job.thread)) + 1
        while at < end_ns:
            first = table.earliest(at, job.time_ns)
            if first is None:
                return None
            if not job.thread:
                return first
            free = self._tables[job.thread].earliest(first, job.thread_ns)
            if free is None:
                return None
            if free == first:
                return first
            at = free
        return None

    def _put(self, index: int, start_ns: int) -> None:
        job = self._jobs[index]
        self._start_ns[index] = start_ns
        self._tables[job.resource].hold(start_ns, job.time_ns)
        if job.thread:
            self._tables[job.thread].hold(start_ns, job.thread_ns)
        if job.resource in self._turn_ns:
            self._turn_ns[job.resource] = start_ns + job.time_ns
        there_ns = start_ns + job.time_ns + job.latency_ns
        for follower in job.followers:
            self._ready_ns[follower] = max(self._ready_ns[follower], there_ns)
            self._waits_for[follower] -= 1
            if not self._waits_for[follower]:
                self._offer(follower)

    def _spans(self) -> Iterator[Span]:
        ready_ns = list(self._ready_ns)
        for index, job in enumerate(self._jobs):
            if job.kind is None:  # its inputs were there before that of the submission
                (task,) = job.followers
                ready_ns[task] = ready_ns[index]
        for index, job in enumerate(self._jobs):
            if job.kind is not None:
                yield self._span(job, job.kind, ready_ns[index], self._start_ns[index])

    def _span(self, job: PeriodicJob, kind: SpanKind, ready_ns: int, start_ns: int) -> Span:
        times = (ready_ns, start_ns, start_ns + job.time_ns + job.latency_ns)
        if kind is SpanKind.COPY:
            name = self._problem.tensors[job.index].name
            return Span(kind, job.index, name, "copy", job.resource, (0,), *times)
        task = self._problem.tasks[job.index]
        lanes = tuple(range(task.width(self._placement.device_of[job.index])))
        return Span(kind, job.index, task.name, task.kind, job.resource, lanes, *times)
