"""The whole model as one segment of a device: a plan that needs no profile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Link, Problem, Task, Tensor


def whole_plan(graph: Graph, specs: Sequence[DeviceSpec], device: int | None = None) -> Plan:
    """One session on all lanes of a CPU, or one of a GPU; times are not known, count as nothing.

    Parameters
    ----------
    specs : sequence of DeviceSpec
        The devices of the machine; one of them is a CPU, as always.
    device : int, optional
        Which of them; the CPU without.
    """
    if device is None:
        device = next(i for i, spec in enumerate(specs) if spec.traits.is_host)
    times = tuple(0 if i == device else None for i in range(len(specs)))
    problem = Problem(
        graph.name,
        tuple(Device(spec.name, spec.lanes, spec.memory) for spec in specs),
        tuple(Link(*pair) for pair in permutations(sorted({spec.memory for spec in specs}), 2)),
        tuple(
            Task(t.name, t.op_type, times, default_device=device, weight_bytes=t.weight_bytes)
            for t in graph.tasks
        ),
        tuple(Tensor(t.name, t.producer, t.consumers, 0, t.is_output) for t in graph.tensors),
    )
    width = specs[device].lanes if specs[device].traits.is_host else 1
    service = ServiceTimes({(device, width): [0] * len(graph.tasks)})
    group = TaskGroup(tuple(range(len(graph.tasks))), device, width)
    groups = GroupGraph(problem, [group] if graph.tasks else [])
    predicted = predict(groups, service)
    name = f"whole x{width}"
    return make_plan(graph, groups, service, predicted, name=name, policy="whole", bound_ns=0)
