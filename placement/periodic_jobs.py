"""What one query asks of each resource, and what has to wait for what: jobs of a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from surplus.placement.occupancy import crowded_lanes, off_host, thread_name
from surplus.placement.overflow import HOST
from surplus.placement.placement import Placement
from surplus.placement.problem import Link, Problem
from surplus.placement.timeline import SpanKind


@dataclass
class PeriodicJob:
    """Something that holds a resource for a time, and perhaps a thread from the same instant on.

    Parameters
    ----------
    kind : SpanKind or None
        Task or copy; None for a submission, which no timeline shows.
    index : int
        Of the task, or of the tensor.
    resource : str
    time_ns, thread_ns, latency_ns : int
        How long it holds the resource, and the thread; how much later its result is there.
    thread : str
        Empty: none.
    """

    kind: SpanKind | None
    index: int
    resource: str
    time_ns: int
    latency_ns: int = 0
    thread: str = ""
    thread_ns: int = 0
    followers: list[int] = field(default_factory=list)
    waits_for: int = 0


def jobs_of(problem: Problem, placement: Placement) -> list[PeriodicJob]:
    """All jobs of a query; what waits for one is named by index in this list."""
    return _Jobs(problem, placement).jobs


class _Jobs:
    def __init__(self, problem: Problem, placement: Placement) -> None:
        self._problem = problem
        self._device_of = placement.device_of
        self._first: list[int] = []
        self._task: list[int] = []
        self.jobs: list[PeriodicJob] = []
        self._owners = self._thread_owners()
        for task in range(len(problem.tasks)):
            self._add_task(task)
        for tensor in range(len(problem.tensors)):
            self._add_tensor(tensor)

    def _thread_owners(self) -> dict[str, str]:
        """By memory off the host: whose thread pageable copies hold."""
        found: dict[str, str] = {}
        for d in sorted(set(self._device_of)):
            device = self._problem.devices[d]
            found.setdefault(device.memory, thread_name(device))
        return found

    def _add_task(self, index: int) -> None:
        d = self._device_of[index]
        device, task = self._problem.devices[d], self._problem.tasks[index]
        service_ns = device.slowed_ns(task.service_ns[d] or 0, crowded_lanes(device))
        thread, launches_ns = thread_name(device), task.launches_ns(d)
        self._first.append(len(self.jobs))
        if device.submit_ns:
            self.jobs.append(PeriodicJob(None, index, thread, device.submit_ns))
        self._task.append(len(self.jobs))
        held = (thread, launches_ns) if launches_ns else ("", 0)
        self.jobs.append(PeriodicJob(SpanKind.TASK, index, device.name, service_ns, 0, *held))
        if device.submit_ns:
            self._follow(self._first[-1], self._task[-1])

    def _add_tensor(self, index: int) -> None:
        tensor = self._problem.tensors[index]
        source = HOST if tensor.producer < 0 else self._device_of[tensor.producer]
        maker = None if tensor.producer < 0 else self._task[tensor.producer]
        copies: dict[str, int] = {}
        if tensor.is_output:
            self._arrival(index, source, HOST, maker, copies)
        for task in tensor.consumers:
            there = self._arrival(index, source, self._device_of[task], maker, copies)
            if there is not None:
                self._follow(there, self._first[task])

    def _arrival(
        self, index: int, source: int, target: int, maker: int | None, copies: dict[str, int]
    ) -> int | None:
        """The job after which a tensor is there: its maker's, or a copy's."""
        size_bytes, link = self._problem.tensors[index].size_bytes, None
        if size_bytes:
            link = self._problem.link(source, target)
        if link is None:
            return maker
        if link.name not in copies:
            copies[link.name] = len(self.jobs)
            self.jobs.append(self._copy(index, link, size_bytes))
            if maker is not None:
                self._follow(maker, copies[link.name])
        return copies[link.name]

    def _copy(self, index: int, link: Link, size_bytes: int) -> PeriodicJob:
        hold_ns = link.hold_ns(size_bytes)
        away = off_host(self._problem, link)
        thread = self._owners.get(away, "") if link.pageable else ""
        held = (thread, hold_ns) if thread else ("", 0)
        times = (hold_ns, link.latency_ns)
        if link.staging_bytes is not None:  # one copy at a time is in the pool, until it is there
            times = (hold_ns + link.latency_ns, 0)
        return PeriodicJob(SpanKind.COPY, index, link.name, *times, *held)

    def _follow(self, before: int, after: int) -> None:
        self.jobs[before].followers.append(after)
        self.jobs[after].waits_for += 1


def held_by(jobs: Sequence[PeriodicJob]) -> Iterator[tuple[str, int]]:
    """What each job holds, and for how long; a thread that it holds beside its resource, too."""
    for job in jobs:
        yield job.resource, job.time_ns
        if job.thread:
            yield job.thread, job.thread_ns
