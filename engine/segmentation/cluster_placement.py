"""Places clusters instead of single tasks.

A policy that looks at tasks one by one does not know that a segment of a GPU is submitted once,
that a captured graph launches nothing, nor that only what leaves a segment is copied. So the graph
is cut first, as if one device did all; what a cluster takes as a segment of each device is a
problem of the same kind, smaller, and any policy solves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from surplus.engine.segmentation.clusters import Cluster
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.widths import best_width
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, Task


def labels(problem: Problem, service: ServiceTimes) -> list[int]:
    """A number for each task: the same for those that the same devices run, and capture."""
    found: dict[tuple[bool, ...], int] = {}
    rows = []
    for index, task in enumerate(problem.tasks):
        able = [time is not None for time in task.service_ns]
        able += [row[index] is not None for row in service.captured_ns.values()]
        rows.append(found.setdefault(tuple(able), len(found)))
    return rows


def placed(
    problem: Problem,
    cut: Sequence[Cluster],
    service: ServiceTimes,
    place: Callable[[Problem], Placement],
) -> Placement:
    """The placement of the tasks that follows from one of the clusters.

    Parameters
    ----------
    cut : sequence of Cluster
        Of tasks that the same devices can run; which one each names does not count.
    place : callable
        A policy.
    """
    graph = GroupGraph(problem, [TaskGroup(c.tasks, _default(problem, c.tasks)) for c in cut])
    chosen = place(cluster_problem(graph, service))
    devices, priority = [0] * len(problem.tasks), [0] * len(problem.tasks)
    ranked = sorted(
        (chosen.priority[index], task)
        for index, group in enumerate(graph.groups)
        for task in group.tasks
    )
    for rank, (_, task) in enumerate(ranked):
        priority[task] = rank
    for index, group in enumerate(graph.groups):
        for task in group.tasks:
            devices[task] = chosen.device_of[index]
    return Placement(tuple(devices), tuple(priority), chosen.policy)


def cluster_problem(graph: GroupGraph, service: ServiceTimes) -> Problem:
    """The groups as tasks that may run on any device that can run all of a group."""
    problem, _ = coarse_problem(graph, service)
    tasks = [
        _anywhere(task, group, graph.problem, service)
        for task, group in zip(problem.tasks, graph.groups, strict=True)
    ]
    return replace(problem, tasks=tuple(tasks))


def _anywhere(task: Task, group: TaskGroup, problem: Problem, service: ServiceTimes) -> Task:
    options = [
        best_width(replace(group, device=device), service)
        if _can_run(problem, group.tasks, device)
        else None
        for device in range(len(problem.devices))
    ]
    return replace(
        task,
        service_ns=tuple(None if o is None else service.of_group(o) for o in options),
        widths=tuple(1 if o is None else o.width for o in options),
        launch_ns=tuple(
            0 if o is None else service.launches_ns(group.tasks, o.device) for o in options
        ),
    )


def _can_run(problem: Problem, tasks: Sequence[int], device: int) -> bool:
    return all(problem.tasks[task].service_ns[device] is not None for task in tasks)


def _default(problem: Problem, tasks: Sequence[int]) -> int:
    """Where today's runtime puts them; elsewhere if that cannot run them all."""
    wanted = problem.tasks[tasks[0]].default_device
    able = (d for d in range(len(problem.devices)) if _can_run(problem, tasks, d))
    return wanted if _can_run(problem, tasks, wanted) else next(able)
