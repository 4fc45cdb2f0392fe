"""Where a plan can be several times: GPUs that are alike, shared out among its copies.

While queries overlap a GPU for each copy needs no copies of tensors from GPU to GPU, and what a
query holds of a GPU is divided by their number. What it holds of the CPU is not, so a plan that is
placed to be there several times leaves the GPUs more than one that is placed to be there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.engine.planning.candidates import Place
from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.segmenter import Candidate
from surplus.placement.occupancy import thread_name
from surplus.placement.overflow import HOST
from surplus.placement.placement import Placement
from surplus.placement.problem import Link, Problem, Task

_LIKE = 1.1
"""Times over another's of a GPU that is taken for one of the same kind: each may be measured."""


@dataclass(frozen=True)
class Replication:
    """Groups of GPUs, one for each copy of a plan.

    Parameters
    ----------
    groups : tuple of tuple of int
        Devices of each, as many and of the same kinds; a plan of the first can be on all others.
    devices : int
        Of the machine.
    """

    groups: tuple[tuple[int, ...], ...]
    devices: int

    @property
    def count(self) -> int:
        """Copies."""
        return len(self.groups)

    def copies(self, costs: Costs, candidate: Candidate) -> Iterator[Candidate]:
        """A candidate of the first group, on each of the others."""
        for homes in self.homes:
            groups = (replace(g, device=homes[g.device]) for g in candidate.graph.groups)
            yield replace(candidate, graph=GroupGraph(costs.problem, groups))

    @property
    def homes(self) -> tuple[tuple[int, ...], ...]:
        """Of each further copy, where it has the segments of each device."""
        return tuple(self._homes(group) for group in self.groups[1:])

    def _homes(self, group: Sequence[int]) -> tuple[int, ...]:
        there = dict(zip(self.groups[0], group, strict=True))
        return tuple(there.get(device, device) for device in range(self.devices))

    def on_first(self, costs: Costs) -> Costs:
        """The same costs, without the other groups' GPUs."""
        gone = {device for group in self.groups[1:] for device in group}
        tasks = tuple(_without(task, gone, self.groups[0][0]) for task in costs.problem.tasks)
        return replace(costs, problem=replace(costs.problem, tasks=tasks))

    def placed(self, place: Place, problem: Problem) -> Placement:
        """Of a problem of the first group alone: as if that were as fast as all are together."""
        return place(_shared(problem, {*self.groups[0]}, self.count))

    def shared(self, problem: Problem, held_ns: Mapping[str, int]) -> dict[str, int]:
        """What a query holds on the mean, of what one on the first copy holds."""
        memories = {problem.devices[device].memory for device in self.groups[0]}
        mine = {link.name for link in problem.links if memories & {link.source, link.target}}
        for device in self.groups[0]:
            mine |= {problem.devices[device].name, thread_name(problem.devices[device])}
        return {n: -(-ns // self.count) if n in mine else ns for n, ns in held_ns.items()}


def replications(problem: Problem) -> Iterator[Replication]:
    """All ways to share out the GPUs that are alike, the most copies first; none for one GPU."""
    devices = len(problem.devices)
    for alike in _alike(problem):
        for size in range(1, len(alike)):
            if len(alike) % size == 0:
                groups = (alike[i : i + size] for i in range(0, len(alike), size))
                yield Replication(tuple(map(tuple, groups)), devices)


def _alike(problem: Problem) -> list[list[int]]:
    """Devices with a memory of their own that do all in about the same time."""
    found: list[list[int]] = []
    memories = [device.memory for device in problem.devices]
    for index, memory in enumerate(memories):
        if memory == memories[HOST] or memories.count(memory) > 1:
            continue
        row = next((row for row in found if _is_like(problem, row[0], index)), None)
        if row is None:
            found.append([index])
        else:
            row.append(index)
    return [alike for alike in found if len(alike) > 1]


def _is_like(problem: Problem, one: int, other: int) -> bool:
    first, second = problem.devices[one], problem.devices[other]
    if (first.lanes, first.memory_bytes) != (second.lanes, second.memory_bytes):
        return False
    times = [(task.service_ns[one], task.service_ns[other]) for task in problem.tasks]
    if any((a is None) != (b is None) for a, b in times):
        return False
    totals = sorted(sum(row[which] or 0 for row in times) for which in (0, 1))
    return totals[1] <= _LIKE * totals[0]


def _without(task: Task, gone: set[int], instead: int) -> Task:
    times = (None if i in gone else ns for i, ns in enumerate(task.service_ns))
    default = instead if task.default_device in gone else task.default_device
    return replace(task, service_ns=tuple(times), default_device=default)


def _shared(problem: Problem, mine: set[int], count: int) -> Problem:
    memories = {problem.devices[device].memory for device in mine}
    return replace(
        problem,
        devices=tuple(
            replace(d, submit_ns=d.submit_ns // count) if i in mine else d
            for i, d in enumerate(problem.devices)
        ),
        links=tuple(
            _shared_link(link, count) if memories & {link.source, link.target} else link
            for link in problem.links
        ),
        tasks=tuple(_shared_task(task, mine, count) for task in problem.tasks),
    )


def _shared_link(link: Link, count: int) -> Link:
    hold_ns, rate = link.occupancy_ns // count, link.bytes_per_s * count
    return replace(link, occupancy_ns=hold_ns, bytes_per_s=rate)


def _shared_task(task: Task, mine: set[int], count: int) -> Task:
    def part(device: int, ns: int) -> int:
        return -(-ns // count) if device in mine else ns

    times = (None if ns is None else part(i, ns) for i, ns in enumerate(task.service_ns))
    launches = tuple(part(i, ns) for i, ns in enumerate(task.launch_ns))
    return replace(task, service_ns=tuple(times), launch_ns=launches, spread_ns=(), wider_ns=())
