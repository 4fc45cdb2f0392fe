"""Which segments are captured, what that saves, and what the plan says of the others."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import onnx
import pytest

from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.presets import GPUS
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import costs_of, measure, plan_of, read_model
from surplus.engine.report.captures import captures
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.capture import refusal, refusal_of
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate

TEXT = """<ir_version: 9, opset_import: ["" : 18]>
g (float[4] x, float[n] z) => (float[4] y, int64[1, k] places, float[n] w, float[4] u) {
    a = Neg(x)
    y = Abs(a)
    places = NonZero(x)
    w = Neg(z)
    s = ReduceSum <keepdims = 0> (x)
    zero = Sub(s, s)
    c = Less(zero, s)
    u = If (c) <then_branch = yes () => (float[4] p) { p = Neg(x) },
                else_branch = no () => (float[4] q) { q = Abs(x) }>
}"""
INPUTS = {"x": np.arange(4, dtype=np.float32), "z": np.ones(3, np.float32)}
GPU = 1


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("capture")
    onnx.save(onnx.parser.parse_model(TEXT), folder / "model.onnx")
    return read_model(folder / "model.onnx", folder / "cache")


def _index(graph: Graph, kind: str) -> int:
    return next(i for i, task in enumerate(graph.tasks) if task.op_type == kind)


def _plan(graph: Graph, devices: str, cache: Path) -> Plan:
    """Two elementwise tasks in one segment, every other task in one of its own, on the GPU."""
    specs = parse_devices(devices)
    costs = costs_of(graph, measure(graph, specs, INPUTS, cache), specs)
    pair = tuple(sorted(graph.tensors[graph.tensor_index[n]].producer for n in ("a", "y")))
    others = [(i,) for i in range(len(graph.tasks)) if i not in pair]
    groups = GroupGraph(costs.problem, [TaskGroup(tasks, GPU) for tasks in (pair, *others)])
    return plan_of(graph, costs, Candidate("by hand", groups, predict(groups, costs.service)), "")


def test_what_cannot_be_captured_is_named(graph: Graph) -> None:
    kinds = {"NonZero": "data-dependent", "If": "control flow", "Abs": ""}
    for kind, reason in kinds.items():
        assert refusal(graph, graph.tasks[_index(graph, kind)]) == reason
    open_sizes = graph.tensors[graph.tensor_index["w"]].producer
    assert refusal(graph, graph.tasks[open_sizes]) == "open shapes"
    assert refusal_of(graph, [_index(graph, "Abs")]) == ""
    both = [_index(graph, "Abs"), _index(graph, "NonZero")]
    assert refusal_of(graph, both).startswith("data-dependent (NonZero ")


def test_a_captured_segment_costs_one_launch(graph: Graph, tmp_path: Path) -> None:
    gpu = GPUS["titan_rtx"]
    plan = _plan(graph, "cpu:1,emulated:gpu", tmp_path)
    pair = next(s for s in plan.segments if len(s.tasks) == 2)
    assert pair.captured
    assert pair.not_captured == ""
    assert pair.launch_ns == 2 * gpu.floor_ns
    assert pair.uncaptured_ns - pair.service_ns == 2 * (gpu.floor_ns - gpu.graph_floor_ns)
    data_dependent = next(s for s in plan.segments if s.tasks == (_index(graph, "NonZero"),))
    assert not data_dependent.captured
    assert data_dependent.not_captured.startswith("data-dependent (NonZero")
    assert Plan.from_json(plan.to_json()) == plan


def test_capture_can_be_turned_off(graph: Graph, tmp_path: Path) -> None:
    plan = _plan(graph, "cpu:1,emulated:gpu[uncaptured]", tmp_path)
    assert {s.not_captured for s in plan.segments} == {"capture is off"}
    assert not any(s.captured for s in plan.segments)
    captured = _plan(graph, "cpu:1,emulated:gpu", tmp_path)
    assert captured.predicted.makespan_ns < plan.predicted.makespan_ns


@pytest.mark.parametrize("fails", [False, True])
def test_a_device_that_fails_to_capture_launches_one_by_one(
    graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    devices = "cpu:1,emulated:gpu[replay]"
    plan = _plan(graph, devices, tmp_path)
    machine = machine_for(parse_devices(devices), EmulationParams(fail_capture=fails))
    with caplog.at_level(logging.WARNING):
        model = PlannedModel(graph, plan, machine)
    assert ("capture failed" in caplog.text) == fails
    model.run(INPUTS)
    found = model.run(INPUTS, traced=True)
    np.testing.assert_array_equal(found["y"], np.arange(4, dtype=np.float32))
    spans = {s.index: s.duration_ns for s in model.timeline() if s.kind == "segment"}
    for index, segment in enumerate(plan.segments):
        charged = segment.uncaptured_ns if fails and segment.captured else segment.service_ns
        assert spans[index] == charged
    (words,) = captures(plan, model.native.captured_nodes).values()
    assert words.startswith("0 of 7" if fails else "4 of 7"), words
    assert "1 not: control flow (If" in words
    assert ("capture failed" in words) == fails


def test_a_plan_without_a_gpu_says_nothing(graph: Graph, tmp_path: Path) -> None:
    specs = parse_devices("cpu:1")
    costs = costs_of(graph, measure(graph, specs, INPUTS, tmp_path), specs)
    groups = GroupGraph(costs.problem, [TaskGroup(tuple(range(len(graph.tasks))), 0)])
    candidate = Candidate("whole", groups, predict(groups, costs.service))
    assert captures(plan_of(graph, costs, candidate, "")) == {}
