"""Turns planned starts into an exact timeline, copies queueing on their links included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from surplus.milp.copies import LinkCopy, link_of
from surplus.milp.windows import service_ns
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.topological_ranks import topological_ranks
from surplus.placement.widths import molded, widths_or_narrowest


def placement_of(
    problem: Problem,
    device_of: Sequence[int],
    starts: Sequence[float],
    policy: str,
    width_of: Mapping[int, int] | None = None,
) -> Placement:
    """Rank tasks by planned start; those of unknown width are as narrow as they can be.

    The order is topological as well, whatever the solver's rounding. Of tasks that start
    together the shorter is first: one of no length may need a lane that the other then takes.
    """
    widths = widths_or_narrowest(problem, device_of, width_of or {})
    placed = Placement(tuple(device_of), tuple(range(len(problem.tasks))), policy, widths)
    problem = molded(problem, placed)

    def key(task: int) -> tuple[int, int]:
        return round(starts[task]), service_ns(problem, task, device_of[task])

    return replace(placed, priority=topological_ranks(problem, key))


def schedule_in_order(
    problem: Problem, placement: Placement, copy_starts: Mapping[LinkCopy, float] | None = None
) -> Timeline:
    """Start tasks strictly in the order of their priorities, each as early as that allows.

    Unlike the simulator, which gives a free lane to whichever task is ready, this may leave a
    lane idle for a task that is about to become ready: some optima need that. No schedule with
    these orders of tasks and copies and these devices is shorter.

    Parameters
    ----------
    problem, placement
        The priorities must be a topological order.
    copy_starts : mapping of Copy to float, optional
        Planned starts, in the order of which copies take their links; a copy that is not planned
        counts from when its tensor is there.

    Returns
    -------
    Timeline
        Passes ``surplus.placement.validator``.
    """
    plan = _Plan(molded(problem, placement), placement, copy_starts or {})
    for task in sorted(range(len(problem.tasks)), key=placement.priority.__getitem__):
        plan.run(task)
    plan.flush()
    return Timeline.of(plan.spans, f"planned:{placement.policy}")


@dataclass
class _Plan:
    problem: Problem
    placement: Placement
    copy_starts: Mapping[LinkCopy, float]
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lanes = [[0] * device.lanes for device in self.problem.devices]
        self._order = [0] * len(self.problem.devices)
        self._wires = {link.name: 0 for link in self.problem.links}
        self._wire_lanes: dict[str, list[int]] = {link.name: [] for link in self.problem.links}
        self._arrival: dict[tuple[int, str], int] = {}
        self._pending: list[tuple[float, LinkCopy, int]] = []
        for index, tensor in enumerate(self.problem.tensors):
            if tensor.producer < 0:
                self._produce(index, 0)

    def run(self, task: int) -> None:
        """Start a task once its inputs and lanes are there and its elders have started."""
        device = self.placement.device_of[task]
        memory = self.problem.devices[device].memory
        ready = max((self._arrives(t, memory) for t in self.problem.inputs_of[task]), default=0)
        free = self._lanes[device]
        soonest = sorted(range(len(free)), key=lambda lane: (free[lane], lane))
        lanes = tuple(sorted(soonest[: self.problem.tasks[task].width(device)]))
        start = max(ready, self._order[device], *(free[lane] for lane in lanes))
        end = start + service_ns(self.problem, task, device)
        self._order[device] = start
        for lane in lanes:
            free[lane] = end
        for index in self.problem.outputs_of[task]:
            self._produce(index, end)
        self._record_task(task, device, lanes, (ready, start, end))

    def flush(self) -> None:
        """Send everything that was produced."""
        while self._pending:
            self._copy(*heappop(self._pending)[1:])

    def _arrives(self, index: int, memory: str) -> int:
        """When a tensor is in a memory; first sends what has to go before it."""
        while (index, memory) not in self._arrival:
            self._copy(*heappop(self._pending)[1:])
        return self._arrival[index, memory]

    def _memory(self, task: int) -> str:
        device = self.placement.device_of[task] if task >= 0 else 0
        return self.problem.devices[device].memory

    def _produce(self, index: int, made: int) -> None:
        tensor = self.problem.tensors[index]
        home = self._memory(tensor.producer)
        self._arrival[index, home] = made
        targets = {self._memory(task) for task in tensor.consumers} - {home}
        if tensor.is_output:
            targets |= {self._memory(-1)} - {home}
        for target in sorted(targets):
            if tensor.size_bytes == 0:
                self._arrival[index, target] = made
            else:
                copy = LinkCopy(index, home, target)
                heappush(self._pending, (self.copy_starts.get(copy, made), copy, made))

    def _copy(self, copy: LinkCopy, made: int) -> None:
        tensor, link = self.problem.tensors[copy.tensor], link_of(self.problem, copy)
        start = max(made, self._wires[link.name])
        self._wires[link.name] = start + link.hold_ns(tensor.size_bytes)
        end = start + link.copy_ns(tensor.size_bytes)
        self._arrival[copy.tensor, copy.target] = end
        lanes = (self._wire_lane(link.name, start, end),)
        self.spans.append(
            Span(
                SpanKind.COPY,
                copy.tensor,
                tensor.name,
                "copy",
                link.name,
                lanes,
                made,
                start,
                end,
            )
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
