"""HEFT: tasks by upward rank, each where it ends earliest, with lanes and transfers.

References
----------
Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous
computing, IEEE TPDS 13(3), 2002, section 4.

Departures: a device has several lanes; a task of width 1 may fill a gap (the insertion policy),
a wider one starts when enough lanes have run out of work; a tensor counts as copied once per
memory at no contention; graph inputs come from the host, graph outputs return to it. Where a
device's submitting thread costs time (``Device.submit_ns``, ``Task.launch_ns``), a task starts once
its submission is done, which may be while its lanes and inputs are still busy elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.ordering import ranks_of
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem

_NEVER = 1 << 62


@dataclass(frozen=True)
class HEFTParams:
    """HEFT has no options."""


@register("heft", HEFTParams)
class HEFT:
    """Earliest finish time in order of upward rank."""

    def __init__(self, params: HEFTParams | None = None) -> None:
        self._params = params or HEFTParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        agenda = [_Device(problem, index) for index in range(len(problem.devices))]
        devices, starts, ends = ([0] * len(problem.tasks) for _ in range(3))
        ranks = mean_upward_ranks(problem)
        for task in sorted(range(len(ranks)), key=lambda task: (-ranks[task], task)):
            _, start, device = min(_offers(problem, agenda, devices, ends, task))
            service_ns = problem.tasks[task].service_ns[device] or 0
            agenda[device].book(task, start, service_ns)
            devices[task], starts[task], ends[task] = device, start, start + service_ns
        return Placement(tuple(devices), ranks_of(starts), "heft")


def mean_upward_ranks(problem: Problem) -> list[float]:
    """Way to the end of the query in mean service and mean copy times (equation 7), ns."""
    pairs = [(a, b) for a in range(len(problem.devices)) for b in range(len(problem.devices))]
    ranks = [0.0] * len(problem.tasks)
    for task in reversed(range(len(ranks))):
        after = 0.0
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            copies = [problem.copy_ns(a, b, tensor.size_bytes) for a, b in pairs]
            latest = max((ranks[consumer] for consumer in tensor.consumers), default=0.0)
            after = max(after, sum(copies) / len(pairs) + latest)
        known = [t for t in problem.tasks[task].service_ns if t is not None]
        ranks[task] = after + sum(known) / len(known)
    return ranks


def _offers(
    problem: Problem, agenda: list[_Device], devices: list[int], ends: list[int], task: int
) -> list[tuple[int, int, int]]:
    """(finish, start, device) on each device that can run the task, outputs brought home."""
    offers = []
    spec = problem.tasks[task]
    for device, service_ns in enumerate(spec.service_ns):
        if service_ns is None:
            continue
        ready = _inputs_there(problem, devices, ends, task, device)
        start = agenda[device].earliest(task, ready, service_ns)
        finish = start + service_ns + _way_home(problem, task, device)
        offers.append((finish, start, device))
    return offers


def _inputs_there(
    problem: Problem, devices: list[int], ends: list[int], task: int, device: int
) -> int:
    ready = 0
    for index in problem.inputs_of[task]:
        tensor = problem.tensors[index]
        made_on, made_at = (0, 0)
        if tensor.producer >= 0:
            made_on, made_at = devices[tensor.producer], ends[tensor.producer]
        ready = max(ready, made_at + problem.copy_ns(made_on, device, tensor.size_bytes))
    return ready


def _way_home(problem: Problem, task: int, device: int) -> int:
    made = (problem.tensors[index] for index in problem.outputs_of[task])
    sizes = [tensor.size_bytes for tensor in made if tensor.is_output]
    return max((problem.copy_ns(device, 0, size) for size in sizes), default=0)


class _Device:
    """The lanes of a device and the thread that submits to them."""

    def __init__(self, problem: Problem, index: int) -> None:
        self._tasks = problem.tasks
        self._index = index
        self._submit_ns = problem.devices[index].submit_ns
        self._lanes = _Agenda(problem.devices[index].lanes)
        self._thread = _Agenda(1)
        self._submission: dict[int, int] = {}

    def earliest(self, task: int, ready: int, service_ns: int) -> int:
        """Earliest start at or after ``ready``, submission included."""
        width = self._tasks[task].width(self._index)
        if held_ns := self._held_ns(task):
            begin = self._thread.earliest(max(0, ready - self._submit_ns), held_ns, 1)
            self._submission[task] = begin
            ready = max(ready, begin + self._submit_ns)
        return self._lanes.earliest(ready, service_ns, width)

    def book(self, task: int, start: int, service_ns: int) -> None:
        """Take what ``earliest`` found."""
        if held_ns := self._held_ns(task):
            self._thread.book(self._submission[task], held_ns, 1)
        self._lanes.book(start, service_ns, self._tasks[task].width(self._index))

    def _held_ns(self, task: int) -> int:
        return self._submit_ns + self._tasks[task].launches_ns(self._index)


class _Agenda:
    """What the lanes of a device are booked for: the gaps of each lane, the last one open."""

    def __init__(self, lanes: int) -> None:
        self._gaps: list[list[tuple[int, int]]] = [[(0, _NEVER)] for _ in range(lanes)]

    def earliest(self, ready: int, service_ns: int, width: int) -> int:
        """Earliest start at or after ``ready``."""
        if width > 1:
            return max(ready, sorted(gaps[-1][0] for gaps in self._gaps)[width - 1])
        return min(self._first(gaps, ready, service_ns) for gaps in self._gaps)

    def book(self, start: int, service_ns: int, width: int) -> None:
        """Take ``width`` lanes that are free then."""
        end = start + service_ns
        for gaps in self._gaps:
            for place, (a, b) in enumerate(gaps):
                if a <= start and end <= b:
                    left = [(a, start)] if a < start else []
                    right = [(end, b)] if end < b else []
                    gaps[place : place + 1] = left + right
                    width -= 1
                    break
            if width == 0:
                return

    @staticmethod
    def _first(gaps: list[tuple[int, int]], ready: int, service_ns: int) -> int:
        return next(max(a, ready) for a, b in gaps if max(a, ready) + service_ns <= b)
