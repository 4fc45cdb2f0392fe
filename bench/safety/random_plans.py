"""Random costs, groupings, widths and plans of a graph, on random devices."""

from __future__ import annotations

import itertools
from random import Random

from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.clusters import clusters
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.packing import pack
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.widths import choose_widths
from surplus.placement import problem as p
from surplus.placement.placement import Placement

DEVICES = (
    "cpu:2",
    "cpu:4",
    "cpu:16",
    "cpu:1,emulated:gpu",
    "cpu:3,emulated:gpu:2",
    "cpu:2,emulated:a,emulated:b",
)
CHARGED_NS = 2_000
"""What an emulated device is charged for a segment: nothing that a test would wait for."""


def random_costs(graph: Graph, specs: tuple[DeviceSpec, ...], random: Random) -> Costs:
    """Made-up times at every width and sizes of every tensor."""
    able = [_able(graph, index, specs) for index in range(len(graph.tasks))]
    rows = [tuple(random.randint(0, 60_000) if a else None for a in row) for row in able]
    problem = p.Problem(
        graph.name,
        tuple(p.Device(s.name, s.lanes, s.memory) for s in specs),
        _links(specs, random),
        tuple(
            p.Task(task.name, task.op_type, row)
            for task, row in zip(graph.tasks, rows, strict=True)
        ),
        tuple(_tensor(tensor, random) for tensor in graph.tensors),
    )
    return Costs(problem, random_service(problem, specs, random))


def random_service(
    problem: p.Problem, specs: tuple[DeviceSpec, ...], random: Random
) -> ServiceTimes:
    """Service times at every width of every device: some tasks scale, some get slower."""
    times = {
        (d, w): [
            None if t.service_ns[d] is None else round(t.service_ns[d] * random.uniform(0.9 / w, 2))
            for t in problem.tasks
        ]
        for d, spec in enumerate(specs)
        for w in spec.widths
        if w > 1
    }
    narrow = {(d, 1): [t.service_ns[d] for t in problem.tasks] for d in range(len(specs))}
    fusion = {key: random.uniform(0.3, 1.5) for key in (narrow | times) if random.random() < 0.7}
    return ServiceTimes(
        narrow | times,
        fusion,
        boundary_ns=random.choice([0, 650]),
        wide_boundary_ns=random.choice([0, 20_000]),
    )


def random_devices_of(problem: p.Problem, random: Random) -> Placement:
    """Any device that can run a task, in any start order."""
    device_of = [
        random.choice([d for d, ns in enumerate(task.service_ns) if ns is not None])
        for task in problem.tasks
    ]
    ranks = list(range(len(device_of)))
    random.shuffle(ranks)
    return Placement(tuple(device_of), tuple(ranks), "random")


def random_groups(costs: Costs, placement: Placement, random: Random) -> GroupGraph:
    """Any grouping that the segmenter could make, every group of any width."""
    problem = costs.problem
    way = random.choice(["per task", "clusters", "widths"])
    if way == "per task":
        groups = per_task(problem, placement)
    else:
        cut = clusters(problem, placement.device_of, random.choice([2, 3, 8]))
        groups = GroupGraph(problem, pack(problem, cut, costs.service, random.choice([1, 2])))
    if way == "widths":
        return choose_widths(groups, costs.service)
    return GroupGraph(problem, [_any_width(g, costs.service, random) for g in groups.groups])


def random_plan(graph: Graph, specs: tuple[DeviceSpec, ...], seed: int) -> Plan:
    """A plan that nobody would choose, and that must work all the same."""
    random = Random(seed)
    costs = random_costs(graph, specs, random)
    groups = random_groups(costs, random_devices_of(costs.problem, random), random)
    return plan_of_groups(graph, groups, costs.service)


def plan_of_groups(graph: Graph, groups: GroupGraph, service: ServiceTimes) -> Plan:
    """The executable plan of a grouping."""
    predicted = predict(groups, service)
    return make_plan(graph, groups, service, predicted, name="random", policy="random", bound_ns=0)


def _any_width(group: TaskGroup, service: ServiceTimes, random: Random) -> TaskGroup:
    return TaskGroup(group.tasks, group.device, random.choice(service.widths(group.device)))


def _able(graph: Graph, index: int, specs: tuple[DeviceSpec, ...]) -> list[bool]:
    """What is not a tensor keeps its tasks on the host."""
    task = graph.tasks[index]
    values = (graph.tensors[t] for t in (*task.inputs, *task.outputs))
    plain = all(value.kind is ValueKind.TENSOR for value in values)
    return [plain or spec.traits.is_host for spec in specs]


def _links(specs: tuple[DeviceSpec, ...], random: Random) -> tuple[p.Link, ...]:
    spaces = sorted({spec.memory for spec in specs})
    return tuple(
        p.Link(a, b, random.choice([0, 3_000]), random.choice([1e9, 50e9]), random.choice([0, 700]))
        for a, b in itertools.permutations(spaces, 2)
    )


def _tensor(tensor: GraphTensor, random: Random) -> p.Tensor:
    size_bytes = 0 if tensor.metadata_only else random.choice([0, 64, 300_000])
    return p.Tensor(tensor.name, tensor.producer, tensor.consumers, size_bytes, tensor.is_output)
