"""A device of the simulator whose tasks one thread submits: a GPU and its streams.

Rules, the same as those of the core's emulated device
(engine/core/devices/emulated/emulated_device.hpp):

- Submitting a task takes the thread ``Device.submit_ns``; the task can start then, and the thread
  is busy for ``Task.launch_ns`` more.
- The head of the queue goes to the lowest idle lanes. If none is idle, or the queue is empty, a
  lane that runs may get one task more behind the one that it runs: the most urgent of the head
  of the queue and of the tasks of width 1 that wait for nothing but running tasks of this device,
  where these end no later than the lane's own. Of several lanes the one that is free first.
  Where submitting takes no time this gains nothing and is not done.
- A submitted task starts when its lanes are free and its inputs are there; its service time is
  multiplied by ``Device.slowdown`` for the lanes that are busy then.
- A wide task at the head of the queue keeps all others from being submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from surplus.placement.problem import Problem
from surplus.placement.waits import Waits

Key = tuple[int, int, int]
"""Of a queue: moment, priority, task."""

_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Started:
    """A task that begins now, on which lanes and until when."""

    task: int
    lanes: tuple[int, ...]
    end_ns: int


def has_streams(problem: Problem, index: int) -> bool:
    """Whether a device needs these rules: something costs its thread time, or lanes its lanes."""
    device = problem.devices[index]
    pageable = (link for link in problem.links if link.pageable)
    return (
        device.submit_ns > 0
        or bool(device.slowdown)
        or any(task.launches_ns(index) for task in problem.tasks)
        or any(device.memory in (link.source, link.target) for link in pageable)
    )


class Streams:
    """One device during a simulation.

    Parameters
    ----------
    waits : Waits
        What tasks wait for.
    device_of : sequence of int
        Device of each task.
    missing : sequence of int
        How many inputs each task still lacks; the simulator's own list.
    key : callable
        A task's place in the queue.
    """

    def __init__(
        self,
        problem: Problem,
        index: int,
        waits: Waits,
        device_of: Sequence[int],
        missing: Sequence[int],
        key: Callable[[int], Key],
    ) -> None:
        self._problem = problem
        self._device = problem.devices[index]
        self._index = index
        self._waits = waits
        self._device_of = device_of
        self._missing = missing
        self._key = key
        self._queue: list[Key] = []
        self._running = [_NOBODY] * self._device.lanes
        self._next = [_NOBODY] * self._device.lanes
        self._end_ns: dict[int, int] = {}
        self._launched_ns: dict[int, int] = {}
        self._free_ns = 0
        self.wakes: list[int] = []
        """Moments at which something may start or be submitted; the simulator takes them out."""

    def enqueue(self, key: Key) -> None:
        """A task's inputs are there."""
        if key[2] not in self._launched_ns:
            heappush(self._queue, key)

    def end(self, task: int) -> None:
        """A running task has ended."""
        self._running = [_NOBODY if other == task else other for other in self._running]
        del self._end_ns[task]

    def free_ns(self, now: int) -> int:
        """When the submitting thread is free."""
        return max(now, self._free_ns)

    def hold(self, until_ns: int) -> None:
        """Keep the submitting thread busy until then: a copy from or to pageable memory."""
        self._free_ns = until_ns
        self.wakes.append(until_ns)

    def dispatch(self, now: int) -> list[Started]:
        """Submit and start all that can be now."""
        found: list[Started] = []
        while True:
            submitted = False
            while self._submit_one(now):
                submitted = True
            started = self._start_all(now)
            found += started
            if not submitted and not started:
                return found

    def _submit_one(self, now: int) -> bool:
        if self._free_ns > now:
            return False
        if not self._queue:
            return self._submit_ahead(now)
        head = self._queue[0][2]
        width = self._problem.tasks[head].width(self._index)
        lanes = range(len(self._running))
        idle = [i for i in lanes if self._running[i] == _NOBODY and self._next[i] == _NOBODY]
        if len(idle) < width:
            return width == 1 and self._submit_ahead(now)
        heappop(self._queue)
        self._submit(head, idle[:width], now)
        return True

    def _submit_ahead(self, now: int) -> bool:
        if self._device.submit_ns == 0:
            return False
        best: tuple[Key, int] | None = None
        for key, inputs_ns in self._prospects(now):
            lane = self._lane_for(inputs_ns)
            if lane is not None and (best is None or key < best[0]):
                best = key, lane
        if best is None:
            return False
        key, lane = best
        if self._queue and self._queue[0] == key:
            heappop(self._queue)
        self._submit(key[2], [lane], now)
        return True

    def _prospects(self, now: int) -> Iterator[tuple[Key, int]]:
        """What may go behind a running task, and when its inputs will be there."""
        if self._queue:
            yield self._queue[0], now
        for running in self._end_ns:
            for task in self._waits.successors(running):
                if self._device_of[task] != self._index or task in self._launched_ns:
                    continue
                ends = self._ends_of_inputs(task)
                wide = self._problem.tasks[task].width(self._index) > 1
                if len(ends) == self._missing[task] and not wide:
                    yield self._key(task), max(ends)

    def _ends_of_inputs(self, task: int) -> list[int]:
        tensors = (self._problem.tensors[i] for i in self._waits.inputs_of[task])
        return [self._end_ns[t.producer] for t in tensors if t.producer in self._end_ns]

    def _lane_for(self, inputs_ns: int) -> int | None:
        """The lane that is free first of those that inputs of that moment leave without a gap."""
        ends = [
            (self._end_ns[running], lane)
            for lane, running in enumerate(self._running)
            if running != _NOBODY
            and self._next[lane] == _NOBODY
            and self._end_ns[running] >= inputs_ns
        ]
        return min(ends)[1] if ends else None

    def _submit(self, task: int, lanes: Sequence[int], now: int) -> None:
        for lane in lanes:
            self._next[lane] = task
        self._launched_ns[task] = now + self._device.submit_ns
        self._free_ns = self._launched_ns[task] + self._problem.tasks[task].launches_ns(self._index)
        self.wakes += {self._launched_ns[task], self._free_ns} - {now}

    def _start_all(self, now: int) -> list[Started]:
        started: dict[int, tuple[int, ...]] = {}
        for lane, task in enumerate(self._next):
            if task == _NOBODY or task in started or self._running[lane] != _NOBODY:
                continue
            if self._missing[task] == 0 and self._launched_ns[task] <= now:
                lanes = tuple(i for i, other in enumerate(self._next) if other == task)
                started[task] = lanes
        for task, lanes in started.items():
            for lane in lanes:
                self._running[lane], self._next[lane] = task, _NOBODY
        busy = sum(task != _NOBODY for task in self._running)
        return [self._begin(task, lanes, busy, now) for task, lanes in started.items()]

    def _begin(self, task: int, lanes: tuple[int, ...], busy: int, now: int) -> Started:
        service_ns = self._problem.tasks[task].service_ns[self._index]
        assert service_ns is not None, "Placement.check lets no such task pass"
        self._end_ns[task] = now + self._device.slowed_ns(service_ns, busy)
        return Started(task, lanes, self._end_ns[task])
