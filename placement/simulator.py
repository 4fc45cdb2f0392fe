"""A discrete-event list simulator: what a runtime does with a placement, in exact nanoseconds.

Long because its rules, which the core follows too, stand here in full. ``evaluator`` asks a native
twin, which finds the same times and draws no timeline.

Rules, the same as the runtime's:

- A task is ready when all of its inputs are in the memory of its device. Ready tasks wait in one
  queue per device. A lane that is free takes the head of the queue.
- A task of width w starts when w lanes are free. While it waits for them at the head, a narrow
  task behind it starts only if it ends before these lanes are free (EASY backfilling, as in
  engine/core/scheduler/ready_queue.hpp); a more urgent one goes before it. So nothing delays it
  but what is more urgent, and since running tasks need nothing from waiting ones, it never
  deadlocks.
- A tensor is copied once to each other memory that needs it, as soon as it is produced (eager
  push). Copies over one link run in the order in which they were asked for, those of one moment
  by the priority of their first reader, outputs last; a copy holds the link for
  ``Link.hold_ns`` and arrives ``latency_ns`` later (wire.py). Tensors without bytes only order.
- A device with a submitting thread or with lanes that slow each other follows streams.py.
- Who is held waits for what his elder waits for, too (holds.py): a task until its elder's inputs
  are there, a copy until its elder's tensor was made. Only then it is ready, or asked for.
- Graph inputs are in the host's memory (device 0) at time 0, graph outputs end there.

Ties: everything that ends at an instant is booked before anything starts, tasks by index, then
copies in the order of their starts; then links by index take copies and devices by index take
tasks; lanes are taken from the lowest index up.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, nsmallest
from sys import maxsize
from typing import Literal

from surplus.placement.held_copies import HeldCopies
from surplus.placement.placement import Placement
from surplus.placement.problem import Link, Problem
from surplus.placement.streams import Key, Streams, has_streams
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.waits import Waits
from surplus.placement.widths import molded
from surplus.placement.wire import Asked, Wire

_TASK_ENDS, _COPY_ARRIVES, _WAKE = 0, 1, 2
_BACKFILL_LOOKS = 256


@dataclass(frozen=True)
class SimulatorParams:
    """How the simulated runtime behaves.

    Parameters
    ----------
    order : {"priority", "fifo"}
        Queue order: by ``Placement.priority``, or by the time of becoming ready (ties by
        priority).
    """

    order: Literal["priority", "fifo"] = "priority"

    def __post_init__(self) -> None:
        if self.order not in ("priority", "fifo"):
            raise ValueError(f"order must be 'priority' or 'fifo', got {self.order!r}")


def simulate(
    problem: Problem, placement: Placement, params: SimulatorParams | None = None
) -> Timeline:
    """Predict the timeline of one query.

    Returns
    -------
    Timeline
        A span per task and per copy. A copy's span ends when its data has arrived; copies that
        overlap in their latency are shown on different lanes of the link.

    Raises
    ------
    ValueError
        If the placement does not fit the problem.
    """
    placement.check(problem)
    simulation = _Simulation(molded(problem, placement), placement, params or SimulatorParams())
    simulation.run()
    return Timeline.of(simulation.spans(), f"simulated:{placement.policy}")


@dataclass(slots=True)
class _Lanes:
    """A device: its queue, its free lanes, and what runs on the others."""

    free: list[int]
    queue: list[tuple[int, int, int]] = field(default_factory=list)
    running: set[int] = field(default_factory=set)


class _Simulation:
    """One query on its way; everything by index in plain lists, for speed."""

    def __init__(self, problem: Problem, placement: Placement, params: SimulatorParams) -> None:
        self._problem = problem
        self._device_of = placement.device_of
        self._priority = placement.priority
        self._fifo = params.order == "fifo"
        self._memory_of = [problem.devices[d].memory for d in placement.device_of]
        self._host = problem.devices[0].memory
        self._devices = [_Lanes(list(range(d.lanes))) for d in problem.devices]
        self._events: list[tuple[int, int, int, Sequence[int]]] = []
        count = len(problem.tasks)
        self._waits = waits = Waits(problem, placement)
        self._missing = [len(inputs) for inputs in waits.inputs_of]
        self._held = HeldCopies(waits.copies)
        self._streams = {
            index: Streams(problem, index, waits, placement.device_of, self._missing, self._key)
            for index in sorted(set(placement.device_of))
            if has_streams(problem, index)
        }
        self._wires = {
            (link.source, link.target): Wire(link, self._thread_of(link)) for link in problem.links
        }
        self._asked = False
        self._ready_ns = [0] * count
        self._start_ns = [0] * count
        self._end_ns = [0] * count
        self._lanes: list[tuple[int, ...]] = [()] * count
        self._copies: list[Span] = []
        self._wire_of: list[Wire] = []

    def run(self) -> None:
        """Play all events."""
        for task, missing in enumerate(self._missing):
            if missing == 0:
                self._enqueue(task, 0)
        for index, tensor in enumerate(self._problem.tensors):
            if tensor.producer < 0:
                self._publish(index, self._host, 0)
        self._launch_copies(0)
        self._dispatch(0)
        while self._events:
            now = self._events[0][0]
            while self._events and self._events[0][0] == now:
                while self._events and self._events[0][0] == now:
                    self._book(heappop(self._events))
                self._launch_copies(now)
            self._dispatch(now)

    def _thread_of(self, link: Link) -> Streams | None:
        """The device whose thread submits a link's copies: the target, unless that is the host."""
        memory = link.source if link.target == self._host else link.target
        owners = (s for i, s in self._streams.items() if self._problem.devices[i].memory == memory)
        return next(owners, None)

    def spans(self) -> Iterable[Span]:
        """Spans of all tasks and copies."""
        names = [device.name for device in self._problem.devices]
        yield from self._copies
        for index, task in enumerate(self._problem.tasks):
            yield Span(
                SpanKind.TASK,
                index,
                task.name,
                task.kind,
                names[self._device_of[index]],
                self._lanes[index],
                self._ready_ns[index],
                self._start_ns[index],
                self._end_ns[index],
            )

    def _book(self, event: tuple[int, int, int, Sequence[int]]) -> None:
        now, kind, index, consumers = event
        if kind == _WAKE:
            return
        if kind == _COPY_ARRIVES:
            self._arrive(index, consumers, now)
            return
        device = self._device_of[index]
        if device in self._streams:
            self._streams[device].end(index)
        else:
            self._devices[device].running.remove(index)
            for lane in self._lanes[index]:
                insort(self._devices[device].free, lane)
        for tensor in self._problem.outputs_of[index]:
            self._publish(tensor, self._memory_of[index], now)

    def _publish(self, index: int, home: str, now: int) -> None:
        tensor = self._problem.tensors[index]
        if tensor.size_bytes == 0:
            self._deliver(self._waits.readers_of[index], now)
            return
        away: dict[str, list[int]] = {}
        for task in self._waits.readers_of[index]:
            memory = self._memory_of[task]
            if memory == home:
                self._deliver((task,), now)
            else:
                away.setdefault(memory, []).append(task)
        if tensor.is_output and home != self._host:
            away.setdefault(self._host, [])
        for memory, consumers in away.items():
            urgency = min((self._priority[task] for task in consumers), default=maxsize)
            asked = Asked(urgency, index, tensor.size_bytes, now, consumers)
            if not self._held.keeps(asked, memory):
                self._ask(asked, home, memory)
        for asked, memory in self._held.released(index, now):
            self._ask(asked, home, memory)

    def _ask(self, asked: Asked, home: str, memory: str) -> None:
        self._wires[home, memory].asked.append(asked)
        self._asked = True

    def _launch_copies(self, now: int) -> None:
        if not self._asked:
            return
        self._asked = False
        for wire in self._wires.values():
            while (asked := wire.take_next()) is not None:
                self._copy(asked, wire, now)

    def _copy(self, asked: Asked, wire: Wire, now: int) -> None:
        start, end = wire.start(asked.size_bytes, now)
        lanes = (wire.lane_at(start, end),)
        name = self._problem.tensors[asked.tensor].name
        times = (asked.ready_ns, start, end)
        heappush(self._events, (end, _COPY_ARRIVES, len(self._copies), asked.consumers))
        self._wire_of.append(wire)
        self._copies.append(
            Span(SpanKind.COPY, asked.tensor, name, "copy", wire.link.name, lanes, *times)
        )

    def _arrive(self, copy: int, consumers: Sequence[int], now: int) -> None:
        wire = self._wire_of[copy]
        wire.staged_bytes -= wire.staged(self._problem.tensors[self._copies[copy].index].size_bytes)
        self._asked = self._asked or bool(wire.waiting)
        self._deliver(consumers, now)

    def _deliver(self, consumers: Iterable[int], now: int) -> None:
        for task in consumers:
            self._missing[task] -= 1
            if self._missing[task] == 0:
                self._enqueue(task, now)

    def _enqueue(self, task: int, now: int) -> None:
        self._ready_ns[task] = now
        device = self._device_of[task]
        if device in self._streams:
            self._streams[device].enqueue(self._key(task))
        else:
            heappush(self._devices[device].queue, self._key(task))

    def _key(self, task: int) -> Key:
        """A task's place in its queue; of one that is not ready yet as if it were."""
        moment = self._ready_ns[task] if self._fifo else 0
        return moment, self._priority[task], task

    def _dispatch(self, now: int) -> None:
        for index, device in enumerate(self._devices):
            if index in self._streams:
                self._dispatch_streams(self._streams[index], now)
                continue
            while device.free and device.queue:
                head = device.queue[0][2]
                width = self._problem.tasks[head].width(index)
                if width > len(device.free):
                    if not self._start_behind(width, index, now):
                        break
                    continue
                heappop(device.queue)
                self._start(head, index, width, now)

    def _start_behind(self, width: int, index: int, now: int) -> bool:
        """Start what ends before a wide task at the head has its lanes; whether there is any."""
        device = self._devices[index]
        time_ns = self._free_ns(width, index) - now
        for key in nsmallest(_BACKFILL_LOOKS, device.queue) if time_ns > 0 else ():
            task = self._problem.tasks[key[2]]
            if task.width(index) == 1 and 0 < (task.service_ns[index] or 0) <= time_ns:
                device.queue.remove(key)
                heapify(device.queue)
                self._start(key[2], index, 1, now)
                return True
        return False

    def _free_ns(self, width: int, index: int) -> int:
        """When that many lanes will be free."""
        device = self._devices[index]
        free, end_ns = len(device.free), 0
        for task in sorted(device.running, key=self._end_ns.__getitem__):
            if free >= width:
                break
            free += len(self._lanes[task])
            end_ns = self._end_ns[task]
        return end_ns

    def _dispatch_streams(self, streams: Streams, now: int) -> None:
        for started in streams.dispatch(now):
            task = started.task
            self._lanes[task] = started.lanes
            self._start_ns[task], self._end_ns[task] = now, started.end_ns
            heappush(self._events, (started.end_ns, _TASK_ENDS, task, []))
        for moment in streams.wakes:
            heappush(self._events, (moment, _WAKE, 0, []))
        streams.wakes.clear()

    def _start(self, task: int, device: int, width: int, now: int) -> None:
        free = self._devices[device].free
        self._lanes[task] = tuple(free[:width])
        del free[:width]
        self._devices[device].running.add(task)
        service_ns = self._problem.tasks[task].service_ns[device]
        assert service_ns is not None, "Placement.check lets no such task pass"
        self._start_ns[task] = now
        self._end_ns[task] = now + service_ns
        heappush(self._events, (now + service_ns, _TASK_ENDS, task, []))
