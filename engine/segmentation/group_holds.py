"""Holds of tasks as holds of the segments that these are, in a problem and in a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.plan import Copy, Segment
from surplus.placement.holds import CopyHold, Hold
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.waits import Waits


def planned_ranks(graph: GroupGraph, planned: Placement) -> tuple[int, ...]:
    """Rank of each group, which is one task, in the planned order."""
    ranks = [planned.priority[group.tasks[0]] for group in graph.groups]
    place = {rank: index for index, rank in enumerate(sorted(ranks))}
    return tuple(place[rank] for rank in ranks)


def held(graph: GroupGraph, coarse: Problem, placement: Placement) -> Placement:
    """The placement of the groups with the holds that are planned, if it is in the planned order.

    Parameters
    ----------
    coarse : Problem
        The groups as tasks.
    """
    planned = graph.planned
    if planned is None or placement.priority != planned_ranks(graph, planned):
        return placement
    group_of = _group_of(graph)
    tensor_of = {tensor.name: index for index, tensor in enumerate(coarse.tensors)}
    index_of = [tensor_of.get(tensor.name, -1) for tensor in graph.problem.tensors]
    return replace(
        placement,
        holds=tuple(Hold(group_of[h.elder], group_of[h.task]) for h in planned.holds),
        copy_holds=tuple(
            CopyHold(index_of[h.elder], index_of[h.tensor], h.memory) for h in planned.copy_holds
        ),
    )


def held_segments(
    graph: GroupGraph, planned: Placement, segments: Sequence[Segment]
) -> tuple[Segment, ...]:
    """The segments, who are held with what their elders wait for."""
    group_of = _group_of(graph)
    awaits: dict[int, set[str]] = {}
    # Elders are more urgent, so what an elder waits for is known before it is asked for.
    for hold in sorted(planned.holds, key=lambda h: planned.priority[h.task]):
        elder, own = group_of[hold.elder], group_of[hold.task]
        more = {*segments[elder].inputs, *awaits.get(elder, ())}
        awaits.setdefault(own, set()).update(more.difference(segments[own].inputs))
    return tuple(
        replace(segment, awaits=tuple(sorted(awaits.get(index, ()))))
        for index, segment in enumerate(segments)
    )


def held_copies(
    problem: Problem, planned: Placement, copies: Sequence[Copy], memories: Sequence[str]
) -> tuple[Copy, ...]:
    """The copies, who are held with the tensors whose copies go before."""
    awaits = {
        (problem.tensors[tensor].name, memory): tuple(problem.tensors[e].name for e in elders)
        for (tensor, memory), elders in Waits(problem, planned).copies.items()
    }
    return tuple(
        replace(copy, awaits=awaits.get((copy.tensor, memories[copy.target]), ()))
        for copy in copies
    )


def _group_of(graph: GroupGraph) -> Mapping[int, int]:
    return {group.tasks[0]: index for index, group in enumerate(graph.groups)}
