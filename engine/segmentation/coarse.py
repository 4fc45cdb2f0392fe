"""The placement problem of groups: groups as tasks, so that one simulator judges both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from surplus.engine.segmentation.group_holds import held, planned_ranks
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.memory import constant_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, Task, Tensor
from surplus.placement.simulator import simulate
from surplus.placement.timeline import Timeline


def coarse_problem(
    graph: GroupGraph,
    service: ServiceTimes,
    subset: Sequence[int] | None = None,
    measured_ns: Mapping[int, int] | None = None,
    order: Sequence[int] | None = None,
) -> tuple[Problem, Placement]:
    """The groups of ``graph`` (or some of them) as a problem with one choice of device each.

    Parameters
    ----------
    subset : sequence of int, optional
        Group indices, ascending; what comes from outside counts as there from the start, what
        only the outside reads vanishes.
    measured_ns : mapping of int to int, optional
        Service times by group index that replace what ``service`` says.
    order : sequence of int, optional
        Rank of each chosen group, the lowest first; by default as they are planned, or listed.
    """
    if order is None and subset is None and graph.planned is not None:
        order = planned_ranks(graph, graph.planned)
    measured = measured_ns or {}
    chosen = list(range(len(graph.groups)) if subset is None else subset)
    problem = graph.problem
    group_of = {task: new for new, old in enumerate(chosen) for task in graph.groups[old].tasks}
    placement = Placement(
        tuple(graph.groups[old].device for old in chosen),
        tuple(range(len(chosen)) if order is None else order),
        "segments",
    )
    tasks = tuple(_task(graph, old, service, measured.get(old)) for old in chosen)
    tensors = _tensors(problem, group_of, whole=subset is None)
    devices = tuple(
        replace(device, submit_ns=service.submit_ns.get(index, device.submit_ns))
        for index, device in enumerate(problem.devices)
    )
    coarse = Problem(
        f"{problem.name} segments",
        devices,
        problem.links,
        tasks,
        tensors,
        blobs=problem.blobs,
    )
    return coarse, placement if subset is not None else held(graph, coarse, placement)


def predict(
    graph: GroupGraph,
    service: ServiceTimes,
    measured_ns: Mapping[int, int] | None = None,
    order: Sequence[int] | None = None,
) -> Timeline:
    """Simulate the groups as the runtime runs them."""
    return simulate(*coarse_problem(graph, service, measured_ns=measured_ns, order=order))


def longest_tail_first(graph: GroupGraph, service: ServiceTimes) -> list[int]:
    """Rank of each group by the length of the longest path from its start to the end.

    The upward rank of HEFT (Topcuoglu, Hariri and Wu, 2002, eq. 20) without communication.
    """
    tail = [service.of_group(group) for group in graph.groups]
    longest = [0] * len(tail)
    for index in reversed(range(len(tail))):
        tail[index] += longest[index]
        for other in graph.predecessors[index]:
            longest[other] = max(longest[other], tail[index])
    by_tail = sorted(range(len(tail)), key=lambda i: (-tail[i], i))
    rank = [0] * len(tail)
    for place, index in enumerate(by_tail):
        rank[index] = place
    return rank


def _task(graph: GroupGraph, index: int, service: ServiceTimes, measured_ns: int | None) -> Task:
    group, count = graph.groups[index], len(graph.problem.devices)
    service_ns = service.of_group(group) if measured_ns is None else measured_ns
    launch_ns = [0] * count
    launch_ns[group.device] = service.launches_ns(group.tasks, group.device)
    times: list[int | None] = [None] * count
    times[group.device] = service_ns
    widths = [1] * count
    widths[group.device] = group.width
    first = graph.problem.tasks[group.tasks[0]]
    kinds = {graph.problem.tasks[task].kind for task in group.tasks}
    return Task(
        name=first.name if len(group.tasks) == 1 else f"{first.name} +{len(group.tasks) - 1}",
        kind=kinds.pop() if len(kinds) == 1 else "mixed",
        service_ns=tuple(times),
        widths=tuple(widths),
        default_device=group.device,
        weight_bytes=constant_bytes(graph.problem, group.tasks),
        blobs=tuple(sorted({b for task in group.tasks for b in graph.problem.tasks[task].blobs})),
        launch_ns=tuple(launch_ns) if any(launch_ns) else (),
    )


def _tensors(problem: Problem, group_of: dict[int, int], whole: bool) -> tuple[Tensor, ...]:
    kept: list[Tensor] = []
    for tensor in problem.tensors if whole else _made_by(problem, group_of):
        producer = group_of.get(tensor.producer, -1)
        readers = {group_of[c] for c in tensor.consumers if c in group_of} - {producer}
        if not readers and not (whole and tensor.is_output):
            continue
        kept.append(
            Tensor(
                tensor.name,
                producer,
                tuple(sorted(readers)),
                tensor.size_bytes,
                tensor.is_output and whole,
            )
        )
    return tuple(kept)


def _made_by(problem: Problem, tasks: Iterable[int]) -> list[Tensor]:
    """Tensors that these tasks make, by index: a part of a graph costs what it holds."""
    made = sorted(index for task in tasks for index in problem.outputs_of[task])
    return [problem.tensors[index] for index in made]
