"""Section 5 of SIR+ as a mixed integer linear program, with its misprints mended.

Variables, in units of ``PlacementModel.unit_ns``: ``x_i_d`` places task i on device d; ``s_i``
starts it; ``o_i_j`` says that i is done before j starts; ``a_t`` is when tensor t is in a memory
space other than its maker's. Lanes, links and memory have files of their own.

Departures from the printed form, beside those named at each method:

- One start per task instead of one per task and device: only the placed one ever counted.
- Big-M per row. Finish times are expressions in ``x``, so that a service time on a device that
  is not chosen never enters them. The paper's way, M = upper bound with the time of a slow
  device on the left, makes problems infeasible.
- Copies queue for their link only in the pairs that are asked for (``copy_pairs``). Without all
  of them, the program's optimum is a lower bound of the real makespan, and its schedule counts
  only after an exact decoding in which all copies queue.
- Memory capacity counts constants, and of tensors, which come and go, what ``MemoryRoom`` says.

References
----------
SIR+, section 5, equations 1 to 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pulp

from surplus.milp.copies import CopyPair, copies_of
from surplus.milp.decoded import Decoded
from surplus.milp.load_cuts import LoadCut, load_cuts
from surplus.milp.memory import MemoryRoom
from surplus.milp.mip.lanes import Lanes
from surplus.milp.mip.links import LinkQueues
from surplus.milp.mip.room import RoomRows
from surplus.milp.mip.units import MODEL_SPAN
from surplus.milp.reductions import Reduced
from surplus.milp.windows import service_ns
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import SpanKind, Timeline


class PlacementModel:
    """The program of one problem under an upper bound.

    Parameters
    ----------
    problem : Problem
        What is to be placed; tasks wider than one lane take several lanes.
    reduced : Reduced
        Its windows and disjunctions under the upper bound.
    copy_pairs : iterable of CopyPair
        Copies that must not hold their link at once.
    room : MemoryRoom
        What has to fit into a memory at once.
    """

    def __init__(
        self,
        problem: Problem,
        reduced: Reduced,
        copy_pairs: Iterable[CopyPair] = (),
        room: MemoryRoom = MemoryRoom.NEEDED,
    ) -> None:
        self.problem = problem
        self.reduced = reduced
        self.unit_ns = max(reduced.upper_ns, 1) / MODEL_SPAN
        self.program = pulp.LpProblem("placement", pulp.LpMinimize)
        self._windows = reduced.windows
        self._tasks = range(len(problem.tasks))
        self._gates: dict[str, LoadCut] = {}
        self._memories = sorted({device.memory for device in problem.devices})
        self._make_variables()
        self._objective()
        self._placement()
        self._lanes.take()
        self._exclusion()
        self._precedence()
        self._transfers()
        RoomRows(self, room)
        self._windows_and_loads()
        self._queues = LinkQueues(self, copy_pairs)

    def decode(self, values: Mapping[str, float]) -> Decoded:
        """Devices, and starts (ns, as exact as the solver) of tasks and copies."""
        devices = [
            max(choices, key=lambda d: values.get(f"x_{task}_{d}", 0.0))
            for task, choices in enumerate(self._windows.devices)
        ]
        starts = [values.get(f"s_{task}", 0.0) * self.unit_ns for task in self._tasks]
        copies = {}
        for copy in copies_of(self.problem, devices):
            producer = self.problem.tensors[copy.tensor].producer
            made = 0.0
            if producer >= 0:
                made = starts[producer] + service_ns(self.problem, producer, devices[producer])
            planned = values.get(self._queues.start_name(copy), 0.0)
            copies[copy] = max(made, planned * self.unit_ns)
        return Decoded(devices, starts, copies)

    def start_values(self, placement: Placement, timeline: Timeline) -> dict[str, float]:
        """All integer variables and start times of a known schedule within the upper bound."""
        spans = {span.index: span for span in timeline if span.kind is SpanKind.TASK}
        values = dict.fromkeys(self._integers(), 0.0)
        for task, span in spans.items():
            values[f"x_{task}_{placement.device_of[task]}"] = 1.0
            values[f"s_{task}"] = span.start_ns / self.unit_ns
        values.update(self._lanes.start_values(placement, {t: s.lanes for t, s in spans.items()}))
        for pair in self.reduced.pairs:
            a, b = spans[pair.first], spans[pair.second]
            before = pair.forward and a.end_ns <= b.start_ns
            after = pair.backward and not before and b.end_ns <= a.start_ns
            values[f"o_{pair.first}_{pair.second}"] = float(before)
            values[f"o_{pair.second}_{pair.first}"] = float(after)
        values.update(self._queues.start_values(timeline))
        for name, cut in self._gates.items():
            values[name] = float(any(placement.device_of[i] == cut.device for i in cut.tasks))
        values["makespan"] = timeline.makespan_ns / self.unit_ns
        return values

    def _make_variables(self) -> None:
        add = self.program.add_variable
        self.makespan = add("makespan", 0, MODEL_SPAN)
        self.placed = {
            (i, d): add(f"x_{i}_{d}", cat="Binary") for i in self._tasks for d in self._devices(i)
        }
        self.start = {i: add(f"s_{i}", 0, MODEL_SPAN) for i in self._tasks}
        self._lanes = Lanes(self)
        self._o = {
            (i, j): add(f"o_{i}_{j}", 0, int(fits), cat="Integer")
            for pair in self.reduced.pairs
            for i, j, fits in (
                (pair.first, pair.second, pair.forward),
                (pair.second, pair.first, pair.backward),
            )
        }

    def _objective(self) -> None:
        """Eq. 1: the makespan covers each task's finish, and what must come after it.

        Departure: graph outputs have to return to the host, which the tails count.
        """
        self.program.setObjective(self.makespan)
        for i in self._tasks:
            tail = pulp.lpSum(
                self.scaled(self._windows.tail_ns[i][d]) * self.placed[i, d]
                for d in self._devices(i)
            )
            self.add(self.makespan >= self.finish(i) + tail)

    def _placement(self) -> None:
        """Eq. 3: each task runs on exactly one device. Departure: one that can run it."""
        for i in self._tasks:
            self.add(pulp.lpSum(self.placed[i, d] for d in self._devices(i)) == 1)

    def _exclusion(self) -> None:
        """Eq. 4: tasks that share a lane run one after the other.

        Departures: i = j is left out (printed, it forbids every task); back-to-back tasks are
        allowed (printed, <= keeps them apart); only tasks placed on the same lane are bound;
        pairs that precedence or windows order are left out.
        """
        for pair in self.reduced.pairs:
            i, j = pair.first, pair.second
            ordered = self._o[i, j] + self._o[j, i]
            self.add(ordered <= 1)
            for meeting in self._lanes.meetings(pair):
                self.add(ordered >= meeting - 1)
            for a, b, possible in ((i, j, pair.forward), (j, i, pair.backward)):
                if possible:
                    slack = self._latest_finish(a) - self._earliest_start(b)
                    gate = max(slack, 0.0) * (1 - self._o[a, b])
                    self.add(self.start[b] >= self.finish(a) - gate)

    def _precedence(self) -> None:
        """Eq. 5 on one device: a task starts once its predecessors are done; not printed."""
        for i in self._tasks:
            for j in self.problem.predecessors[i]:
                self.add(self.start[i] >= self.finish(j))

    def _transfers(self) -> None:
        """Eq. 5 across devices: s_i >= f_j + Data_ji / Rate_ld if j is on l and i on d.

        Departures: Data_ji / Rate_ld instead of Data_ij / Rate_dl, with latency and occupancy;
        bound only where both are placed so; one arrival per tensor and memory space instead of
        one copy per consumer; tensors without bytes need none; graph inputs come from the host.
        """
        for index, tensor in enumerate(self.problem.tensors):
            if tensor.producer >= 0 and tensor.size_bytes:
                for number, memory in enumerate(self._memories):
                    self._arrival(index, number, memory)

    def _windows_and_loads(self) -> None:
        """Valid inequalities: heads, and loads between tasks; not in the paper."""
        for i in self._tasks:
            self.add(
                self.start[i]
                >= pulp.lpSum(
                    self.scaled(self._windows.head_ns[i][d]) * self.placed[i, d]
                    for d in self._devices(i)
                )
            )
        for cut in load_cuts(self.problem, self._windows):
            self._load(cut)

    def _load(self, cut: LoadCut) -> None:
        begin = self.finish(cut.after) if cut.after is not None else 0
        end = self.start[cut.before] if cut.before is not None else self.makespan
        lanes = self.problem.devices[cut.device].lanes
        work = pulp.lpSum(
            self.scaled(service_ns(self.problem, i, cut.device))
            * self.problem.tasks[i].width(cut.device)
            / lanes
            * self.placed[i, cut.device]
            for i in cut.tasks
            if (i, cut.device) in self.placed
        )
        margin = self.scaled(cut.head_ns + cut.tail_ns)
        self.add(end - begin >= work + margin * (self._any_of(cut) if cut.gated else 1))

    def _any_of(self, cut: LoadCut) -> pulp.LpVariable:
        """A variable that is 1 if any of the tasks runs on the device."""
        name = f"g_{len(self._gates)}"
        used = self.program.add_variable(name, cat="Binary")
        self._gates[name] = cut
        for i in cut.tasks:
            self.add(used >= self.placed[i, cut.device])
        return used

    def _arrival(self, index: int, number: int, memory: str) -> None:
        """Arrival of one tensor in one memory space, and the consumers that wait for it there."""
        tensor = self.problem.tensors[index]
        target = next(d for d, v in enumerate(self.problem.devices) if v.memory == memory)
        copies = {
            d: self.problem.copy_ns(d, target, tensor.size_bytes)
            for d in self._devices(tensor.producer)
        }
        longest = max(copies.values())
        inside = {i: self.inside(i, memory) for i in tensor.consumers}
        if longest == 0 or not any(inside.values()):
            return
        arrival = self.program.add_variable(f"a_{index}_{number}", 0)
        copy = pulp.lpSum(
            self.scaled(ns) * self.placed[tensor.producer, d] for d, ns in copies.items()
        )
        self.add(arrival >= self.finish(tensor.producer) + copy)
        for i, places in inside.items():
            if places:
                gate = self.scaled(longest) * (1 - pulp.lpSum(places))
                self.add(self.start[i] >= arrival - gate)

    def _devices(self, task: int) -> tuple[int, ...]:
        return self._windows.devices[task]

    def inside(self, task: int, memory: str) -> list[pulp.LpVariable]:
        """Variables of which one is 1 if the task runs on a device of that memory."""
        return [
            self.placed[task, d]
            for d in self._devices(task)
            if self.problem.devices[d].memory == memory
        ]

    def finish(self, task: int) -> pulp.LpAffineExpression:
        """Eq. 2: start plus the time on the device where it runs."""
        return self.start[task] + pulp.lpSum(
            self.scaled(service_ns(self.problem, task, d)) * self.placed[task, d]
            for d in self._devices(task)
        )

    def _latest_finish(self, task: int) -> float:
        return MODEL_SPAN - self.scaled(self._windows.least_tail_ns(task))

    def _earliest_start(self, task: int) -> float:
        return self.scaled(self._windows.least_head_ns(task))

    def scaled(self, time_ns: int) -> float:
        """A time in model units."""
        return time_ns / self.unit_ns

    def _integers(self) -> Iterable[str]:
        yield from (variable.name for variable in self.placed.values())
        yield from self._lanes.names()
        yield from (variable.name for variable in self._o.values())

    def add(self, constraint: pulp.LpConstraint) -> None:
        """Add a row to the program."""
        self.program.addConstraint(constraint)
