"""Cuts long segments into slices, so that queries of other models need not wait for their end.

A segment is never interrupted: while one runs, whatever is more urgent waits. Slices follow one
another and a device takes its most urgent node between any two of them, which is preemption at
the boundaries, as VELTAIR's layer blocks have it (ASPLOS'22, section 4). Each boundary costs
something, and what operators lose that were fused across it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Problem

_WINDOW = 0.25
"""Share of a slice by which a cut may move to where less crosses it."""


def sliced(graph: GroupGraph, service: ServiceTimes, slice_ns: int) -> GroupGraph:
    """Cut every group that takes longer than ``slice_ns`` into about equal slices.

    A slice is a stretch of the group's tasks in their topological order, so the groups stay
    acyclic. Cuts move to where the fewest bytes cross them.

    Raises
    ------
    ValueError
        If ``slice_ns`` is not positive.
    """
    if slice_ns <= 0:
        raise ValueError(f"slice_ns must be > 0, got {slice_ns}")
    groups: list[TaskGroup] = []
    for group in graph.groups:
        groups += _slices(graph.problem, group, service, slice_ns)
    return GroupGraph(graph.problem, groups)


def _slices(
    problem: Problem, group: TaskGroup, service: ServiceTimes, slice_ns: int
) -> list[TaskGroup]:
    count = min(-(-service.of_group(group) // slice_ns), len(group.tasks))
    if count < 2:
        return [group]
    row = service.task_ns[group.device, group.width]
    ends_ns = list(accumulate(row[task] or 0 for task in group.tasks))
    crossing = _crossing_bytes(problem, group)
    share_ns = ends_ns[-1] / count
    cuts = [0]
    for index in range(1, count):
        cut = _cut_near(index * share_ns, _WINDOW * share_ns, ends_ns, crossing)
        if cut > cuts[-1]:
            cuts.append(cut)
    cuts.append(len(group.tasks))
    return [
        TaskGroup(group.tasks[first:last], group.device, group.width)
        for first, last in pairwise(cuts)
    ]


def _cut_near(
    ideal_ns: float, window_ns: float, ends_ns: Sequence[int], crossing: Sequence[int]
) -> int:
    """Where the least crosses within the window, or the nearest place if there is none in it."""

    def distance_ns(place: int) -> float:
        return abs(ends_ns[place - 1] - ideal_ns)

    places = range(1, len(ends_ns))
    near = [place for place in places if distance_ns(place) <= window_ns]
    if not near:
        return min(places, key=distance_ns)
    return min(near, key=lambda place: (crossing[place], distance_ns(place)))


def _crossing_bytes(problem: Problem, group: TaskGroup) -> list[int]:
    """Bytes made before each place in the group's tasks and read by it from there on."""
    place_of = {task: place for place, task in enumerate(group.tasks)}
    change = [0] * (len(group.tasks) + 1)
    for tensor in problem.tensors:
        made = place_of.get(tensor.producer)
        read = [place_of[task] for task in tensor.consumers if task in place_of]
        if made is not None and read:
            change[made + 1] += tensor.size_bytes
            change[max(read) + 1] -= tensor.size_bytes
    return list(accumulate(change))
