"""The caller's side of the constraint program: units, the known plan, the answer's schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from surplus.milp.copies import LinkCopy, copies_of
from surplus.milp.cpsat import names
from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.decoded import Decoded
from surplus.milp.granularity import granularity_ns
from surplus.milp.memory import MemoryRoom
from surplus.milp.reductions import Reduced
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import SpanKind, Timeline
from surplus.placement.widths import times_at

SPAN_MAX = 10**9
"""Units that the upper bound may have: 1 s in nanoseconds. Longer plans are counted in coarser
units, which takes less than 1e-9 per task on a path off the bound; sums of products of times
and lanes stay far below what 64 bits hold."""


class CpFormulation:
    """A placement problem for CP-SAT.

    Parameters
    ----------
    problem : Problem
        What is to be placed.
    reduced : Reduced
        Its windows under the upper bound.
    room : MemoryRoom
        What has to fit into a memory at once.
    lower_ns : int
        No schedule is shorter.
    """

    tolerance_ns = 0.0

    def __init__(
        self,
        problem: Problem,
        reduced: Reduced,
        room: MemoryRoom = MemoryRoom.NEEDED,
        lower_ns: int = 0,
    ) -> None:
        unit_ns = max(granularity_ns(problem), -(-reduced.upper_ns // SPAN_MAX))
        self._instance = CpSatInstance(problem, reduced.upper_ns, unit_ns, room, lower_ns)
        self._problem = problem
        self._windows = reduced.windows
        self.unit_ns = float(unit_ns)

    def write(self, folder: Path) -> Path:
        """Store the instance, from which the solver's process builds the program."""
        path = folder / "instance.json"
        path.write_text(self._instance.to_json(), encoding="utf-8")
        return path

    def start_values(self, placement: Placement, timeline: Timeline) -> dict[str, float]:
        """Devices and starts of a known schedule within the upper bound."""
        values = {names.MAKESPAN: self._scaled(timeline.makespan_ns)}
        widths = placement.widths(self._problem)
        for span in timeline:
            if span.kind is SpanKind.COPY:
                link = self._problem.links_by_name[span.resource]
                copy = LinkCopy(span.index, link.source, link.target)
                values[names.needed(copy)] = 1.0
                values[names.sent(copy)] = self._scaled(span.start_ns)
            elif span.kind is SpanKind.TASK:
                lanes = widths[span.index]
                values.update(self._task_values(span.index, placement, span.start_ns, lanes))
        return values

    def decode(self, values: Mapping[str, float]) -> Decoded:
        """Devices, and starts (ns, rounded down to units) of tasks and copies."""
        devices = [
            max(choices, key=lambda d: values.get(names.placed(task, d), 0.0))
            for task, choices in enumerate(self._windows.devices)
        ]
        starts = [
            values.get(names.start(task), 0.0) * self.unit_ns
            for task in range(len(self._problem.tasks))
        ]
        copies = {
            copy: values.get(names.sent(copy), 0.0) * self.unit_ns
            for copy in copies_of(self._problem, devices)
        }
        return Decoded(devices, starts, copies, self._widths(values, devices))

    def _widths(self, values: Mapping[str, float], devices: Sequence[int]) -> dict[int, int]:
        """Widths of the tasks that have a choice where they are."""
        found = {}
        for task, device in enumerate(devices):
            lanes = [width for width, _ in times_at(self._problem.tasks[task], device)]
            if len(lanes) > 1:
                chosen = {n: values.get(names.width(task, device, n), 0.0) for n in lanes}
                found[task] = max(lanes, key=chosen.__getitem__)
        return found

    def _task_values(
        self, task: int, placement: Placement, start_ns: int, lanes: int
    ) -> Iterator[tuple[str, float]]:
        chosen = placement.device_of[task]
        for device in self._windows.devices[task]:
            yield names.placed(task, device), float(device == chosen)
            widths = times_at(self._problem.tasks[task], device)
            for width, _ in widths if len(widths) > 1 else ():
                yield names.width(task, device, width), float(device == chosen and width == lanes)
        yield names.start(task), self._scaled(start_ns)
        least_ns = self._problem.devices[chosen].least_ns
        length = dict(times_at(self._problem.tasks[task], chosen))[lanes]
        yield names.end(task), self._scaled(start_ns) + self._scaled(least_ns(length, lanes))

    def _scaled(self, time_ns: int) -> float:
        return float(self._instance.scaled(time_ns))
