"""What a segmentation needs of each limited memory: constants, tensors between segments, and those
within.

While a segment runs its session holds what its operators hand each other; what crosses its
boundary lies there from the segment's start, or its copy's, to its last reader's end. So a coarse
cut needs more than its tasks one by one, which is all that a placement policy counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.memory import binding_capacities, memory_use
from surplus.placement.memory_words import excess_in_words
from surplus.placement.problem import Problem, Tensor
from surplus.placement.timeline import Timeline


def excesses(graph: GroupGraph, service: ServiceTimes, predicted: Timeline) -> Iterator[str]:
    """In words, each memory that the predicted query fills beyond its limit.

    Parameters
    ----------
    predicted : Timeline
        Of the groups as ``predict`` gives it, by group index.
    """
    limits = binding_capacities(graph.problem)
    if not limits:
        return
    coarse, placement = coarse_problem(graph, service)
    coarse = _with_tensors_within(coarse, graph)
    uses = memory_use(coarse, placement, predicted)
    for memory, limit in limits.items():
        if uses[memory].peak_bytes > limit:
            yield excess_in_words(coarse, placement, uses[memory], limit)


def bytes_within(problem: Problem, tasks: Sequence[int]) -> int:
    """Most bytes of tensors that ``tasks``, run in this order, make and read themselves."""
    inside = set(tasks)
    last = {
        index: max(tensor.consumers, default=task)
        for task in tasks
        for index in problem.outputs_of[task]
        if inside.issuperset((tensor := problem.tensors[index]).consumers) and not tensor.is_output
    }
    now = peak = 0
    for task in tasks:
        mine = [index for index in problem.outputs_of[task] if index in last]
        now += sum(problem.tensors[index].size_bytes for index in mine)
        peak = max(peak, now)
        read = {*mine, *problem.inputs_of[task]}
        now -= sum(problem.tensors[i].size_bytes for i in read if last.get(i) == task)
    return peak


def _with_tensors_within(coarse: Problem, graph: GroupGraph) -> Problem:
    """The problem with a tensor that nobody reads for what each group holds while it runs."""
    sizes = [bytes_within(graph.problem, group.tasks) for group in graph.groups]
    added = tuple(
        Tensor(f"within {coarse.tasks[index].name}", index, (), size)
        for index, size in enumerate(sizes)
        if size
    )
    return replace(coarse, tensors=(*coarse.tensors, *added))
