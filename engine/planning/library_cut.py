"""A cut of a whole model around the tasks that a library of kernels must not run.

One task that it computes otherwise than ONNX says (library_support.py) bars it from a segment, so
from a model that is one: a place that a query says, whole numbers made floating-point ones. Such
tasks stand at the ends more often than in the middle, and what lies between is the library's.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.library_support import may_run
from surplus.engine.element_type import ElementType
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes

_FLOATS = (ElementType.FLOAT, ElementType.FLOAT16)

_LEAST_SHARE = 0.5
"""Of the tasks' time that the library may run: less is not worth compiling."""

_MOST_GROUPS = 16
"""Each boundary costs some microseconds, and what ONNX Runtime would have fused across it."""


def cut_around(
    graph: Graph, library: str, whole: GroupGraph, service: ServiceTimes
) -> GroupGraph | None:
    """Groups that the library may run, and between them groups that it may not.

    None where it may run all, or too little.

    Parameters
    ----------
    whole : GroupGraph
        One group of all tasks: its device and width are those of the cut.
    """
    (everything,) = whole.groups
    tasks = range(len(graph.tasks))
    able = [_makes_floats(graph, task) and may_run(graph, library, [task]) for task in tasks]
    times_ns = [ns or 0 for ns in service.task_ns[everything.device, 1]]
    able_ns = sum(ns for ns, may in zip(times_ns, able, strict=True) if may)
    if all(able) or able_ns < _LEAST_SHARE * sum(times_ns) or not able_ns:
        return None
    members: dict[tuple[int, bool], list[int]] = {}
    for task, key in enumerate(zip(_stages(whole.problem.predecessors, able), able, strict=True)):
        members.setdefault(key, []).append(task)
    if len(members) > _MOST_GROUPS:
        return None
    groups = [TaskGroup(tuple(m), everything.device, everything.width) for m in members.values()]
    return GroupGraph(whole.problem, groups)


def _makes_floats(graph: Graph, task: int) -> bool:
    """What only moves whole numbers stays with what it moves them to."""
    made = graph.tasks[task].outputs
    return any(graph.tensors[t].elem_type in _FLOATS for t in made)


def _stages(before: Sequence[Sequence[int]], able: Sequence[bool]) -> list[int]:
    """Of each task: it grows along every edge between tasks of two kinds, and never shrinks.

    So tasks of one kind and stage are a group, and groups form no cycle. As late as possible: what
    is begun with joins those that read it.
    """
    stages: list[int] = []
    for task, others in enumerate(before):  # in a topological order
        stages.append(max((stages[o] + (able[o] != able[task]) for o in others), default=0))
    read = {other for others in before for other in others}
    last = max(stages, default=0)
    latest = [last if task in read else stage for task, stage in enumerate(stages)]
    for task in reversed(range(len(before))):
        for other in before[task]:
            latest[other] = min(latest[other], latest[task] - (able[other] != able[task]))
    return latest
