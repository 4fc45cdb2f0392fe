"""The caller's side of the constraint program: units, the known plan, the answer's schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from surplus.milp.copies import LinkCopy, copies_of
from surplus.milp.cpsat import names
from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.decoded import Decoded
from surplus.milp.memory import MemoryRoom
from surplus.milp.reductions import Reduced
from surplus.milp.windows import service_ns
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import SpanKind, Timeline

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
    """

    tolerance_ns = 0.0

    def __init__(
        self, problem: Problem, reduced: Reduced, room: MemoryRoom = MemoryRoom.NEEDED
    ) -> None:
        unit_ns = max(1, -(-reduced.upper_ns // SPAN_MAX))
        self._instance = CpSatInstance(problem, reduced.upper_ns, unit_ns, room)
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
        for span in timeline:
            if span.kind is SpanKind.COPY:
                link = self._problem.links_by_name[span.resource]
                copy = LinkCopy(span.index, link.source, link.target)
                values[names.needed(copy)] = 1.0
                values[names.sent(copy)] = self._scaled(span.start_ns)
            elif span.kind is SpanKind.TASK:
                values.update(self._task_values(span.index, placement, span.start_ns))
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
        return Decoded(devices, starts, copies)

    def _task_values(
        self, task: int, placement: Placement, start_ns: int
    ) -> Iterator[tuple[str, float]]:
        chosen = placement.device_of[task]
        for device in self._windows.devices[task]:
            yield names.placed(task, device), float(device == chosen)
        yield names.start(task), self._scaled(start_ns)
        length = self._scaled(service_ns(self._problem, task, chosen))
        yield names.end(task), self._scaled(start_ns) + length

    def _scaled(self, time_ns: int) -> float:
        return float(self._instance.scaled(time_ns))
