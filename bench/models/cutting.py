"""Cuts a model into a wanted number of segments, whatever that costs: for measuring cuts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement import Device, Problem, Task, Tensor


def cut_plan(graph: Graph, bounds: Sequence[int]) -> Plan:
    """Consecutive tasks, cut before each of ``bounds``, one after another on one CPU lane."""
    problem = Problem(
        graph.name,
        (Device("cpu", 1),),
        (),
        tuple(Task(t.name, t.op_type, (1000,)) for t in graph.tasks),
        tuple(Tensor(t.name, t.producer, t.consumers, 0, t.is_output) for t in graph.tensors),
    )
    ends = sorted({0, *bounds, len(graph.tasks)})
    groups = GroupGraph(problem, [TaskGroup(tuple(range(a, b)), 0) for a, b in pairwise(ends)])
    service = ServiceTimes.of(problem)
    return make_plan(
        graph, groups, service, predict(groups, service), name="cut", policy="none", bound_ns=0
    )


def cut_model(graph: Graph, bounds: Sequence[int]) -> PlannedModel:
    """A model of ``cut_plan``'s plan, from prepacked files, which are made where they lack."""
    plan = cut_plan(graph, bounds)
    prepack_plan(graph, plan)
    return PlannedModel(graph, plan, machine_for(parse_devices("cpu:1")))
