"""Plans without a profile: every task takes the same time everywhere."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

from surplus.engine.devices.links import DEFAULT_PRESET, host_links, link_figures, through_host
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph, ValueKind
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.widths import times_at

TASK_NS = 10_000
TENSOR_BYTES = 4096


def constant_problem(graph: Graph, specs: tuple[DeviceSpec, ...]) -> Problem:
    """The graph on these devices; what is not a tensor keeps its tasks on the host."""
    pairs = [
        host_links(spec.memory, link_figures(spec.preset or DEFAULT_PRESET), pageable=spec.pageable)
        for spec in specs
        if spec.kind != "cpu"
    ]
    links = [link for pair in pairs for link in pair]
    links += [through_host(down, up) for (_, down), (up, _) in itertools.permutations(pairs, 2)]
    return Problem(
        graph.name,
        tuple(Device(s.name, s.lanes, s.memory) for s in specs),
        tuple(links),
        tuple(_task(graph, index, specs) for index in range(len(graph.tasks))),
        tuple(
            Tensor(
                t.name,
                t.producer,
                t.consumers,
                0 if t.metadata_only else TENSOR_BYTES,
                t.is_output,
            )
            for t in graph.tensors
        ),
    )


def _task(graph: Graph, index: int, specs: tuple[DeviceSpec, ...]) -> Task:
    task = graph.tasks[index]
    values = (graph.tensors[t] for t in (*task.inputs, *task.outputs))
    movable = all(value.kind is ValueKind.TENSOR for value in values)
    times = tuple(TASK_NS if movable or spec.kind == "cpu" else None for spec in specs)
    return Task(task.name, task.op_type, times, weight_bytes=task.weight_bytes)


def moldable_problem(graph: Graph, specs: tuple[DeviceSpec, ...]) -> Problem:
    """The same, where each task may take several lanes of the CPU, and is so many times shorter."""
    problem = constant_problem(graph, specs)
    wider = tuple(tuple((n, TASK_NS // n) for n in spec.widths if n > 1) for spec in specs)
    return replace(problem, tasks=tuple(replace(t, wider_ns=wider) for t in problem.tasks))


def random_placement(problem: Problem, seed: int) -> Placement:
    """Each task on any device that can run it."""
    rng = random.Random(seed)
    device_of = tuple(
        rng.choice([d for d, time in enumerate(task.service_ns) if time is not None])
        for task in problem.tasks
    )
    return Placement(device_of, tuple(range(len(device_of))), f"random {seed}")


def random_widths(problem: Problem, seed: int) -> Placement:
    """Each task on any device that can run it, at any width that it has there."""
    placement, rng = random_placement(problem, seed), random.Random(f"widths {seed}")
    rows = zip(problem.tasks, placement.device_of, strict=True)
    widths = tuple(rng.choice(times_at(task, device))[0] for task, device in rows)
    return replace(placement, width_of=widths)


def plan_of_groups(graph: Graph, groups: GroupGraph, name: str) -> Plan:
    """The executable plan of any grouping."""
    service = ServiceTimes.of(groups.problem)
    return make_plan(
        graph, groups, service, predict(groups, service), name=name, policy=name, bound_ns=0
    )


def whole_plan(graph: Graph, problem: Problem) -> Plan:
    """The model as one segment of the host."""
    group = TaskGroup(tuple(range(len(graph.tasks))), 0)
    return plan_of_groups(graph, GroupGraph(problem, [group] if graph.tasks else []), "whole")


def scattered_plan(graph: Graph, problem: Problem, seed: int) -> Plan:
    """Every task a segment of its own, on a random device."""
    placement = random_placement(problem, seed)
    return plan_of_groups(graph, per_task(problem, placement), placement.policy)


def sliced_plan(graph: Graph, problem: Problem, count: int) -> Plan:
    """The host's tasks in order, cut into ``count`` segments of about equal length."""
    bounds = [i * len(graph.tasks) // count for i in range(count + 1)]
    groups = [TaskGroup(tuple(range(a, b)), 0) for a, b in itertools.pairwise(bounds)]
    return plan_of_groups(graph, GroupGraph(problem, groups), f"{count} slices")


def plan_in_turns(
    graph: Graph, specs: tuple[DeviceSpec, ...], service_ns: int = 1_000, on: Sequence[str] = ()
) -> Plan:
    """Every task a segment of its own, on the devices, or those named, in turn.

    An emulated one charges ``service_ns`` for each.
    """
    problem = constant_problem(graph, specs)
    count = len(graph.tasks)
    used = [i for i, spec in enumerate(specs) if not on or spec.name in on]
    device_of = tuple(used[i % len(used)] for i in range(count))
    turns = Placement(device_of, tuple(range(count)), "in turn")
    plan = plan_of_groups(graph, per_task(problem, turns), turns.policy)
    charged = tuple(replace(segment, service_ns=service_ns) for segment in plan.segments)
    return replace(plan, segments=charged)
