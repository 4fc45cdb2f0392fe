"""Two branches on two devices run at the same time, and the measured timeline proves it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import coarse_problem, predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.validator import check
from tests.constant_costs import constant_problem

DEVICES = "cpu:1,emulated:gpu"
SIZE = 400
CHARGED_NS = 30_000_000
"""What the emulated device takes for its branch: long beside every copy and hand-over."""

TRIES = 500
"""Where others hold the cores, the host may begin when the device has ended."""

PRODUCTS = "".join(f"h{i + 1} = MatMul(h{i}, start)\n" for i in range(20))

TWO_BRANCHES = f"""
<ir_version: 9, opset_import: ["" : 17]>
branches (float[{SIZE}, {SIZE}] x) => (float[{SIZE}, {SIZE}] y) {{
    start = Relu(x)
    h0 = Neg(start)
    {PRODUCTS}
    d1 = Abs(start)
    d2 = Sqrt(d1)
    y = Max(h20, d2)
}}
"""


def test_branches_overlap_and_the_timeline_is_valid(tmp_path: Path) -> None:
    graph = _read(tmp_path)
    groups = _branches(graph)
    service = ServiceTimes.of(groups.problem)
    plan = make_plan(
        graph, groups, service, predict(groups, service), name="two", policy="by hand", bound_ns=0
    )
    charged = tuple(replace(s, service_ns=CHARGED_NS * s.device) for s in plan.segments)
    model = PlannedModel(
        graph, replace(plan, segments=charged), machine_for(parse_devices(DEVICES))
    )
    inputs = {"x": np.full((SIZE, SIZE), 1e-3, np.float32)}
    problem, placement = coarse_problem(groups, service)
    shared_ns = 0
    for _ in range(TRIES):
        model.run(inputs, traced=True)
        timeline = model.timeline()
        check(problem, placement, _numbered(timeline, problem), durations="any")
        host = _span(timeline, _first(graph, "Neg"))
        device = _span(timeline, _first(graph, "Abs"))
        shared_ns = min(host.end_ns, device.end_ns) - max(host.start_ns, device.start_ns)
        if shared_ns > 0:
            break
    assert shared_ns > 0, "they never overlap"


def _read(folder: Path) -> Graph:
    onnx.save(onnx.parser.parse_model(TWO_BRANCHES), folder / "branches.onnx")
    return read_model(folder / "branches.onnx", folder / "cache")


def _branches(graph: Graph) -> GroupGraph:
    """Start and end on the host, the products on the host, the rest on the emulated device."""
    problem = constant_problem(graph, parse_devices(DEVICES))
    members: dict[str, list[int]] = {"start": [], "host": [], "device": [], "end": []}
    branch = {"Relu": "start", "Neg": "host", "MatMul": "host", "Max": "end"}
    for index, task in enumerate(graph.tasks):
        members[branch.get(task.op_type, "device")].append(index)
    return GroupGraph(
        problem, [TaskGroup(tuple(tasks), int(name == "device")) for name, tasks in members.items()]
    )


def _numbered(timeline: Timeline, problem: Problem) -> Timeline:
    """Copies count as the problem counts its tensors."""
    index = {tensor.name: i for i, tensor in enumerate(problem.tensors)}
    spans = [
        replace(span, index=index[span.name]) if span.kind is SpanKind.COPY else span
        for span in timeline
    ]
    return Timeline.of(spans, timeline.origin)


def _first(graph: Graph, op_type: str) -> str:
    return next(task.name for task in graph.tasks if task.op_type == op_type)


def _span(timeline: Timeline, first_task: str) -> Span:
    """The segment whose name begins with its first task's."""
    return next(span for span in timeline if span.name.split(" +")[0] == first_task)
