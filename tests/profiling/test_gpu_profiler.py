"""Measured costs of a GPU: of an emulated one, what it charges must come out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ExecutionError
from surplus.engine.native import load_runtime, open_session
from surplus.engine.profiling.calibrate import calibrate
from surplus.engine.profiling.gpu_profiler import GpuProfiler, GpuProfilingParams
from surplus.engine.profiling.link_probe import CopyTimes, LinkProbe, fitted_link, measured_links
from surplus.engine.profiling.operator_probe import OperatorParams
from surplus.engine.profiling.repeated import repeated
from surplus.engine.profiling.segment_probe import ProbeCharge, Probed, ProbeParams, SegmentProbe
from surplus.engine.profiling.signature import signature
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import TimingStore
from surplus.engine.values import to_value

LANES = 3
SLOWDOWN = (1.0, 1.5, 2.25)
SUBMIT_NS = 70_000
FEW = GpuProfilingParams(2, OperatorParams(4), ProbeParams(1, 1, 1, 0))

CHARGES = {
    "Exp": (2_000_000, 90_000, 500_000),
    "NonZero": (1_000_000, 1_000_000, 0),  # the host waits for all of it
    "Add": (400_000, 40_000, 100_000),
    "Neg": (300_000, 20_000, 30_000),
}
"""Service, launch and captured time of one operator."""


def charge(kind: str, copies: int) -> ProbeCharge:
    return ProbeCharge(*(copies * each for each in CHARGES[kind]))


@pytest.fixture(scope="module")
def machine():
    """An emulated GPU that answers from recorded outputs, so that only its clock counts."""
    load_runtime()
    gpu = _core.DeviceOptions(kind="emulated", name="emulated:gpu", lanes=LANES)
    gpu.emulated.replay = True
    gpu.emulated.submit_ns = SUBMIT_NS
    gpu.emulated.slowdown = list(SLOWDOWN)
    gpu.emulated.h2d_latency_ns, gpu.emulated.d2h_latency_ns = 80_000, 90_000
    gpu.emulated.h2d_occupancy_ns, gpu.emulated.d2h_occupancy_ns = 20_000, 30_000
    gpu.emulated.h2d_bytes_per_s, gpu.emulated.d2h_bytes_per_s = 1e9, 4e9
    made = _core.Machine([_core.DeviceOptions(), gpu])
    yield made
    made.close()


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Exp", ["x"], ["a"], name="exp"),
        helper.make_node("NonZero", ["a"], ["where"], name="where"),
        helper.make_node("Add", ["a", "x"], ["y"], name="add"),
    ]
    made = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [2, 3])],
        [value("where", TensorProto.INT64, [2, None]), value("y", TensorProto.FLOAT, [2, 3])],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "g.onnx"
    onnx.save(model, path)
    return read(path, tmp_path / "graphs")


def profiler(graph: Graph, machine: _core.Machine, store: TimingStore, **rest) -> GpuProfiler:
    given = {"params": FEW, "config": {}, "charge": charge, **rest}
    return GpuProfiler(graph, machine, "a GPU", store, **given)


def costs(graph: Graph, made: GpuProfiler) -> dict:
    found = {}
    for step in calibrate(graph, {"x": np.ones((2, 3), np.float32)}):
        task = graph.tasks[step.task]
        found[task.op_type] = made.task_cost(step, signature(graph, task, step.seen))
    return found


def test_time_and_launch_and_captured_time_are_told_apart(graph: Graph, machine) -> None:
    made = profiler(graph, machine, TimingStore(None))
    found = costs(graph, made)
    for kind, cost in found.items():
        service, launch, captured = CHARGES[kind]
        assert cost.time.ns == service
        assert cost.launch_ns == launch
        # The host takes part in a data-dependent operator: it is not tried.
        assert cost.captured_ns == (None if kind == "NonZero" else captured)
    assert made.submit_ns() == SUBMIT_NS
    assert made.slowdown(LANES) == SLOWDOWN
    assert made.slowdown(2) == SLOWDOWN[:2]
    assert made.slowdown(1) == ()


def test_operators_of_open_sizes_are_not_captured(machine, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"], name="exp")],
        "g",
        [value("x", TensorProto.FLOAT, ["rows", 3])],
        [value("y", TensorProto.FLOAT, ["rows", 3])],
    )
    onnx.save(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        tmp_path / "open.onnx",
    )
    graph = read(tmp_path / "open.onnx", tmp_path / "graphs")
    cost = costs(graph, profiler(graph, machine, TimingStore(None)))["Exp"]
    assert cost.time.ns == CHARGES["Exp"][0]
    assert cost.captured_ns is None


def test_what_only_renames_its_input_counts_as_within_a_segment(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    sizes = helper.make_tensor("sizes", TensorProto.INT64, [1], [6])
    made = helper.make_graph(
        [helper.make_node("Reshape", ["x", "sizes"], ["y"], name="reshape")],
        "g",
        [value("x", TensorProto.FLOAT, [2, 3])],
        [value("y", TensorProto.FLOAT, [6])],
        [sizes],
    )
    onnx.save(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        tmp_path / "r.onnx",
    )
    graph = read(tmp_path / "r.onnx", tmp_path / "graphs")

    def alone_it_would_copy(kind: str, copies: int) -> ProbeCharge:
        return ProbeCharge(1_000_000, 50_000, 0) if kind == "Reshape" else ProbeCharge()

    gpu = _core.DeviceOptions(kind="emulated", name="emulated:gpu", lanes=2)
    machine = _core.Machine([_core.DeviceOptions(), gpu])
    own = profiler(graph, machine, TimingStore(None), charge=alone_it_would_copy)
    cost = costs(graph, own)["Reshape"]
    assert cost.time.ns < 1_000_000
    assert cost.launch_ns < 50_000
    assert cost.captured_ns == 0
    machine.close()


def test_known_operators_are_not_measured_again(graph: Graph, machine, tmp_path: Path) -> None:
    store = TimingStore(tmp_path)
    first = profiler(graph, machine, store)
    found, submit_ns = costs(graph, first), first.submit_ns()
    store.close()

    def never(kind: str, copies: int) -> ProbeCharge:
        return ProbeCharge(1, 1, 1)

    again = profiler(graph, machine, TimingStore(tmp_path), charge=never)
    assert {k: v.time.ns for k, v in costs(graph, again).items()} == {
        k: v.time.ns for k, v in found.items()
    }
    assert again.submit_ns() == submit_ns
    other = GpuProfiler(graph, machine, "another GPU", TimingStore(tmp_path), FEW, {}, never)
    assert costs(graph, other)["Exp"].time == Timing(1)


def test_what_the_device_refuses_has_no_cost(graph: Graph, tmp_path: Path) -> None:
    gpu = _core.DeviceOptions(kind="emulated", name="emulated:gpu", lanes=2)
    gpu.emulated.fail_prepare = True
    machine = _core.Machine([_core.DeviceOptions(), gpu])
    for _ in range(2):  # measured, then known
        store = TimingStore(tmp_path)
        made = profiler(graph, machine, store)
        assert set(costs(graph, made).values()) == {None}
        assert made.slowdown(2) == ()
        with pytest.raises(ExecutionError, match="fail_prepare"):
            made.submit_ns()
        store.close()
    machine.close()


def test_the_whole_model_is_one_segment(graph: Graph, machine) -> None:
    made = profiler(graph, machine, TimingStore(None))
    times = made.whole_model({"x": np.ones((2, 3), np.float32)})
    assert times.service.ns >= 0
    assert times.host_ns == SUBMIT_NS
    with pytest.raises(ExecutionError):
        made.whole_model({"x": np.ones((3, 3), np.float32)})


def test_copies_come_out_as_the_links_are(machine) -> None:
    there, back = measured_links(LinkProbe(machine, 1, FEW.probe), "gpu", 1 << 20)
    assert (there.source, there.target, back.source, back.target) == ("host", "gpu", "gpu", "host")
    assert (there.latency_ns, back.latency_ns) == (80_000, 90_000)
    assert (there.occupancy_ns, back.occupancy_ns) == (20_000, 30_000)
    assert there.bytes_per_s == pytest.approx(1e9, rel=1e-3)
    assert back.bytes_per_s == pytest.approx(4e9, rel=1e-3)
    assert there.staging_bytes == 1 << 20


def test_a_link_needs_two_sizes_and_is_never_negative() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        fitted_link("host", "gpu", [CopyTimes(8, 1, 1)], None)
    noisy = [CopyTimes(4096, 10, 20), CopyTimes(8192, 10, 10)]
    link = fitted_link("host", "gpu", noisy, None)
    assert (link.latency_ns, link.occupancy_ns) == (0, 19)
    assert link.bytes_per_s > 0


def test_a_device_of_one_lane_tells_no_launches() -> None:
    gpu = _core.DeviceOptions(kind="emulated", name="emulated:gpu", lanes=1)
    machine = _core.Machine([_core.DeviceOptions(), gpu])
    times = SegmentProbe(machine, 1, FEW.probe).times(neg(1))
    assert times.host_ns is None
    machine.close()


def neg(copies: int) -> Probed:
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"], name="n")],
        "g",
        [value("x", TensorProto.FLOAT, [4])],
        [value("y", TensorProto.FLOAT, [4])],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    names = ["y", *(f"y copy {i}" for i in range(1, copies))]
    given = {"x": to_value(np.arange(4, dtype=np.float32), TensorProto.FLOAT)}
    return Probed(repeated(model.SerializeToString(), copies), given, names)


def test_copies_of_an_operator_all_compute() -> None:
    probed = neg(3)
    session = open_session(probed.model, level="disable_all")
    assert session.output_names == probed.outputs
    for value in session.run(dict(probed.inputs)):
        np.testing.assert_array_equal(value.to_numpy(), -np.arange(4, dtype=np.float32))
    with pytest.raises(ValueError, match="copies must be >= 1"):
        repeated(probed.model, 0)
    with pytest.raises(ValueError, match="one node, got 3"):
        repeated(probed.model, 2)


@pytest.mark.parametrize("bad", [{"most_copies": 1}, {"target_ns": 0}, {"most_bytes": -1}])
def test_bad_numbers_of_copies(bad: dict) -> None:
    with pytest.raises(ValueError, match="two copies"):
        OperatorParams(**bad)
    with pytest.raises(ValueError, match="heaviest"):
        GpuProfilingParams(heaviest=0)
    with pytest.raises(ValueError, match="runs must satisfy"):
        ProbeParams(least=0)
