"""Constants of a model in the placement problem, and a limit on the GPU's memory."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import PlacementError
from surplus.engine.planning.stages import place
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.profile import Profile
from surplus.engine.profiling.profiler import profile_graph
from surplus.engine.profiling.timing import Timing
from surplus.placement import placement_table, policy_names, simulate, validate

SPECS = parse_devices("cpu:2,emulated:gpu[titan_rtx]")
TABLES, ROWS = 26, 20_000

# Microseconds on one core of a 2.5 GHz server CPU, batch 128, as `engine profile` found them.
CPU_US = {"Gather": 17, "ReduceSum": 22, "Gemm": 165, "MatMul": 227, "Concat": 50, "Transpose": 89}
TRIANGLE_US = 700


def same_time(session, inputs, repeats, budget_ns, warmup):
    return [10_000]


@pytest.fixture(scope="module")
def dlrm(tmp_path_factory):
    """A DLRM whose tables are nearly all of it, with CPU times that are always the same."""
    folder = tmp_path_factory.mktemp("dlrm")
    path = models.save(models.build("dlrm", tables=TABLES, rows=ROWS), folder / "dlrm.onnx")
    graph = read(path, folder / "graphs")
    inputs = models.example_inputs("dlrm", tables=TABLES, rows=ROWS)
    profile = profile_graph(graph, SPECS, inputs, timer=same_time)
    tasks = tuple(
        replace(t, times={**t.times, "cpu": dict.fromkeys((1, 2), Timing(cpu_ns(t)))})
        for t in profile.tasks
    )
    return graph, replace(profile, tasks=tasks)


def cpu_ns(task):
    return 1_000 * (TRIANGLE_US if "triangle" in task.name else CPU_US.get(task.op, 2))


def rows_of(problem, placements):
    return [
        (r.makespan_ns, r.devices[1].memory_bytes) for r in placement_table(problem, placements)
    ]


def test_ten_percent_of_the_tables_moves_them_to_the_host_and_keeps_the_layers(dlrm):
    graph, profile = dlrm
    limit = TABLES * ROWS * 64 * 4 // 10
    free, tight = problem_of(graph, profile), problem_of(graph, profile, gpu_memory_bytes=limit)
    runtime, placement = place(free, "single"), place(tight, "best")
    tables = [i for i, t in enumerate(tight.tasks) if t.weight_bytes > ROWS * 64]
    layers = [i for i, t in enumerate(tight.tasks) if t.kind == "Gemm"]
    assert len(tables) == TABLES
    assert sum(placement.device_of[i] == 0 for i in tables) >= 0.9 * TABLES
    assert {placement.device_of[i] for i in layers} == {1}
    assert validate(tight, placement, simulate(tight, placement)) == []
    (all_ns, all_bytes), (ns, held) = rows_of(free, [runtime, placement])
    assert held <= min(limit, 0.1 * all_bytes)
    assert ns <= 1.1 * all_ns


@pytest.mark.parametrize("policy", policy_names())
def test_every_policy_keeps_to_the_limit(dlrm, policy):
    tight = problem_of(*dlrm, gpu_memory_bytes=5_000_000)
    placement = place(tight, policy)
    assert validate(tight, placement, simulate(tight, placement)) == []


def test_a_limit_that_nothing_helps_against_says_what_is_needed(dlrm):
    graph, profile = dlrm
    only = tuple(
        replace(t, times={"emulated:gpu": t.times["emulated:gpu"]}) if t.op == "Gemm" else t
        for t in profile.tasks
    )
    tight = problem_of(graph, replace(profile, tasks=only), gpu_memory_bytes=1_000_000)
    with pytest.raises(PlacementError, match=r"'emulated:gpu' has .*least 2\.483 MiB"):
        place(tight, "heft")


def test_a_limit_above_the_devices_memory_changes_nothing(dlrm):
    assert problem_of(*dlrm, gpu_memory_bytes=1 << 50) == problem_of(*dlrm)


def test_constants_that_several_tasks_read_are_blobs(tmp_path):
    weights = numpy_helper.from_array(np.ones((16, 16), np.float32), "w")
    bias = numpy_helper.from_array(np.ones(16, np.float32), "b")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["c"]),
        helper.make_node("Sub", ["c", "b"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 16]) for n in "xy"]
    made = helper.make_graph(nodes, "shared", ends[:1], ends[1:], [weights, bias])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    graph = read(tmp_path / "m.onnx", tmp_path / "graphs")
    inputs = {"x": np.ones((4, 16), np.float32)}
    problem = problem_of(graph, profile_graph(graph, SPECS, inputs, timer=same_time))
    (blob,) = problem.blobs
    assert (blob.name, blob.size_bytes) == ("w", 4 * 256)
    assert [(t.weight_bytes, t.blobs) for t in problem.tasks] == [
        (1024, (0,)),
        (1024, (0,)),
        (64, ()),
    ]


def test_profiles_are_compressed_where_their_name_says_so(dlrm, tmp_path):
    _, profile = dlrm
    packed, plain = tmp_path / "P.json.gz", tmp_path / "P.json"
    profile.save(packed)
    profile.save(plain)
    assert Profile.load(packed) == Profile.load(plain) == profile
    assert packed.stat().st_size < 0.2 * plain.stat().st_size
