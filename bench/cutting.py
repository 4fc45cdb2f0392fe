"""Cuts a model into a wanted number of segments, whatever that costs: for measuring cuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.dfg.onnx_reader import read
from engine.profiling.devices import parse_devices
from engine.runtime.machines import machine_for
from engine.runtime.model import Model
from engine.segmentation.coarse import predict
from engine.segmentation.groups import Group, GroupGraph
from engine.segmentation.plan import make_plan
from engine.segmentation.service import ServiceTimes
from placement import Device, Problem, Task, Tensor


def cut_into(path: str, segments: int, cache: Path, probe: Callable[[], int]) -> tuple[int, Model]:
    """Consecutive tasks in equal shares; ``probe`` is called before sessions are made."""
    graph = read(path, cache)
    problem = Problem(
        graph.name,
        (Device("cpu", 1),),
        (),
        tuple(Task(t.name, t.op_type, (1000,)) for t in graph.tasks),
        tuple(Tensor(t.name, t.producer, t.consumers, 0, t.is_output) for t in graph.tensors),
    )
    share = -(-len(graph.tasks) // segments)
    groups = GroupGraph(
        problem,
        [
            Group(tuple(range(first, min(first + share, len(graph.tasks)))), 0)
            for first in range(0, len(graph.tasks), share)
        ],
    )
    service = ServiceTimes.of(problem)
    plan = make_plan(
        graph, groups, service, predict(groups, service), name="cut", policy="none", bound_ns=0
    )
    machine = machine_for(parse_devices("cpu:1"))
    before = probe()
    return before, Model(graph, plan, machine)
