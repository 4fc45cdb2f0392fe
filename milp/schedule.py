"""Turns planned starts into an exact timeline, copies queueing on their links included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from milp.windows import service_ns
from placement.placement import Placement
from placement.problem import Problem
from placement.timeline import Span, SpanKind, Timeline


def placement_of(
    problem: Problem, device_of: Sequence[int], starts: Sequence[float], policy: str
) -> Placement:
    """Rank tasks by planned start.

    The order is topological as well, whatever the solver's rounding, and tasks that start
    together are ranked by index.
    """
    waiting = [len(before) for before in problem.predecessors]
    ready = [(starts[task], task) for task, count in enumerate(waiting) if count == 0]
    heapify(ready)
    priority = [0] * len(waiting)
    for rank in range(len(waiting)):
        _, task = heappop(ready)
        priority[task] = rank
        for after in problem.successors[task]:
            waiting[after] -= 1
            if waiting[after] == 0:
                heappush(ready, (starts[after], after))
    return Placement(tuple(device_of), tuple(priority), policy)


def schedule_in_order(problem: Problem, placement: Placement) -> Timeline:
    """Start tasks strictly in the order of their priorities, each as early as that allows.

    Unlike the simulator, which gives a free lane to whichever task is ready, this may leave a
    lane idle for a task that is about to become ready: some optima need that. Without
    contention on links, no schedule with this order and these devices is shorter.

    Parameters
    ----------
    problem, placement
        The priorities must be a topological order.

    Returns
    -------
    Timeline
        Passes ``placement.validate``; copies over one link run in order of their readiness.
    """
    plan = _Plan(problem, placement)
    for task in sorted(range(len(problem.tasks)), key=placement.priority.__getitem__):
        plan.run(task)
    plan.flush()
    return Timeline.of(plan.spans, f"planned:{placement.policy}")


@dataclass
class _Plan:
    problem: Problem
    placement: Placement
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lanes = [[0] * device.lanes for device in self.problem.devices]
        self._wires = {(link.source, link.target): 0 for link in self.problem.links}
        self._wire_lanes: dict[str, list[int]] = {link.name: [] for link in self.problem.links}
        self._arrival: dict[tuple[int, str], int] = {}
        self._order = [0] * len(self.problem.devices)
        self._pending: list[tuple[int, int]] = []
        for index, tensor in enumerate(self.problem.tensors):
            if tensor.producer < 0:
                heappush(self._pending, (0, index))

    def run(self, task: int) -> None:
        """Start a task once its inputs and lanes are there and its elders have started."""
        device = self.placement.device_of[task]
        memory = self.problem.devices[device].memory
        ready = max(
            (self._arrives(index, memory) for index in self.problem.inputs_of[task]), default=0
        )
        width = self.problem.tasks[task].width(device)
        free = sorted(range(len(self._lanes[device])), key=lambda n: (self._lanes[device][n], n))
        lanes = tuple(sorted(free[:width]))
        start = max(ready, self._order[device], *(self._lanes[device][n] for n in lanes))
        end = start + service_ns(self.problem, task, device)
        self._order[device] = start
        for lane in lanes:
            self._lanes[device][lane] = end
        for index in self.problem.outputs_of[task]:
            heappush(self._pending, (end, index))
        self._record_task(task, device, lanes, (ready, start, end))

    def flush(self) -> None:
        """Send everything that was produced."""
        while self._pending:
            self._send(*heappop(self._pending))

    def _arrives(self, index: int, memory: str) -> int:
        """When a tensor is in a memory; sends what became ready until then."""
        while (index, memory) not in self._arrival:
            self._send(*heappop(self._pending))
        return self._arrival[index, memory]

    def _memory(self, task: int) -> str:
        device = self.placement.device_of[task] if task >= 0 else 0
        return self.problem.devices[device].memory

    def _send(self, made: int, index: int) -> None:
        tensor = self.problem.tensors[index]
        home = self._memory(tensor.producer)
        targets = dict.fromkeys(self._memory(task) for task in tensor.consumers)
        if tensor.is_output:
            targets.setdefault(self._memory(-1))
        self._arrival[index, home] = made
        for target in targets:
            if tensor.size_bytes == 0:
                self._arrival[index, target] = made
            elif target != home:
                self._copy(made, index, home, target)

    def _copy(self, made: int, index: int, home: str, target: str) -> None:
        tensor = self.problem.tensors[index]
        link = next(k for k in self.problem.links if (k.source, k.target) == (home, target))
        start = max(made, self._wires[home, target])
        self._wires[home, target] = start + link.hold_ns(tensor.size_bytes)
        end = start + link.copy_ns(tensor.size_bytes)
        self._arrival[index, target] = end
        lane = self._wire_lane(link.name, start, end)
        self.spans.append(
            Span(SpanKind.COPY, index, tensor.name, "copy", link.name, (lane,), made, start, end)
        )

    def _wire_lane(self, name: str, start: int, end: int) -> int:
        """Lowest row of the link's chart on which this copy overlaps no other."""
        rows = self._wire_lanes[name]
        for row, clear in enumerate(rows):
            if clear <= start:
                rows[row] = end
                return row
        rows.append(end)
        return len(rows) - 1

    def _record_task(
        self, task: int, device: int, lanes: tuple[int, ...], times: tuple[int, int, int]
    ) -> None:
        spec = self.problem.tasks[task]
        name = self.problem.devices[device].name
        self.spans.append(Span(SpanKind.TASK, task, spec.name, spec.kind, name, lanes, *times))
