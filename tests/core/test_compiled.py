"""Compiled segments as nodes of a plan: the answers of ONNX Runtime, and clear errors."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import DeviceOptions, Machine, PlanBuilder
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.compiled_library import compiled_blocks, compiled_runs
from tests.core.session_plans import model

load_runtime()
RANDOM = np.random.default_rng(3)
WEIGHT = RANDOM.standard_normal((48, 20), np.float32)
BIAS = RANDOM.standard_normal(20, np.float32)
FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


def compiled_plan(machine, symbol, library=None, device=0, width=1, shape=(-1, 20), values=None):
    builder = PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    constants = [to_value(value) for value in ((WEIGHT, BIAS) if values is None else values)]
    place = ("block", device, str(library or compiled_blocks()), symbol)
    builder.add_compiled(*place, [x], [(y, 1, shape)], constants, width)
    builder.set_inputs([x])
    builder.set_outputs([y])
    return builder.build()


def session_plan(machine):
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    names = ("x", "w", "b")
    builder = PlanBuilder(machine)
    values = {name: builder.add_value(name) for name in (*names, "y")}
    made = model(nodes, [(name, FLOAT) for name in names], [("y", FLOAT)])
    builder.add_session("s", 0, made, [(n, values[n]) for n in names], [("y", values["y"])])
    builder.set_inputs([values[name] for name in names])
    builder.set_outputs([values["y"]])
    return builder.build()


@pytest.mark.parametrize(("symbol", "width"), [("gemm_narrow", 1), ("gemm_wide", 2)])
@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_a_compiled_segment_answers_as_onnx_runtime(machine, symbol, width, rows):
    x = RANDOM.standard_normal((rows, 48), np.float32)
    before = sum(compiled_runs())
    (found,) = compiled_plan(machine, symbol, width=width).run([to_value(x)])
    (wanted,) = session_plan(machine).run([to_value(value) for value in (x, WEIGHT, BIAS)])
    np.testing.assert_allclose(from_value(found), from_value(wanted), rtol=1e-5, atol=1e-5)
    assert sum(compiled_runs()) == before + 1


def test_runs_overlap_and_are_traced(machine):
    plan = compiled_plan(machine, "gemm_narrow")
    rows = [RANDOM.standard_normal((4, 48), np.float32) for _ in range(40)]
    runs = [plan.submit([to_value(row)], traced=True) for row in rows]
    for row, run in zip(rows, runs, strict=True):
        assert run.wait(60)
        wanted = np.maximum(row @ WEIGHT + BIAS, 0)
        np.testing.assert_allclose(from_value(run.outputs()[0]), wanted, rtol=1e-4, atol=1e-5)
        ((node, lane, ready, start, end),) = run.spans()
        assert (node, lane in (0, 1), ready <= start <= end) == (0, True, True)


def failure(plan, array):
    run = plan.submit([to_value(array)])
    assert run.wait(60)
    assert run.status == "failed"
    return run.error


def test_a_failed_run_names_segment_symbol_and_library(machine):
    library = str(compiled_blocks())
    error = failure(compiled_plan(machine, "gemm_failing"), np.ones((1, 48), np.float32))
    for part in ("'block'", "'gemm_failing'", library, "out of luck"):
        assert part in error
    plan = compiled_plan(machine, "gemm_narrow")
    assert "wants float tensors" in failure(plan, np.ones((1, 48)))
    assert "wants x[n, k]" in failure(plan, np.ones((1, 47), np.float32))
    assert "9 dimensions" in failure(plan, np.ones((1,) * 9, np.float32))
    assert "type 8" in failure(plan, np.array([["text"]], object))
    assert len(plan.run([to_value(np.ones((1, 48), np.float32))])) == 1


def test_a_shape_other_than_the_models_is_refused(machine):
    error = failure(compiled_plan(machine, "gemm_too_large"), np.ones((2, 48), np.float32))
    assert "'gemm_too_large'" in error
    assert "its output 0 has type 1 [2, 21], in the model it has type 1 [-1, 20]" in error
    anything = compiled_plan(machine, "gemm_narrow", shape=None)
    assert anything.run([to_value(np.ones((2, 48), np.float32))])[0] is not None


@pytest.mark.parametrize(
    ("symbol", "reason"),
    [
        ("gemm_absent", "symbol 'gemm_absent' is not there"),
        ("of_tomorrow", "of version 3 of the interface"),
    ],
)
def test_what_is_no_segment_is_refused_when_the_plan_is_built(machine, symbol, reason):
    with pytest.raises(RuntimeError, match=reason) as refused:
        compiled_plan(machine, symbol)
    assert "segment 'block'" in str(refused.value)
    assert str(compiled_blocks()) in str(refused.value)


def test_a_missing_or_damaged_library_is_named(machine, tmp_path: Path):
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(b"no library")
    for path in (tmp_path / "missing.so", damaged):
        with pytest.raises(RuntimeError, match=path.name):
            compiled_plan(machine, "gemm_narrow", path)


def test_a_wrong_number_of_tensors_is_refused(machine):
    with pytest.raises(RuntimeError, match="has 3 inputs, the segment 2"):
        compiled_plan(machine, "gemm_narrow", values=(WEIGHT,))


def test_a_device_that_is_no_cpu_is_refused():
    devices = [DeviceOptions("cpu", "cpu", 1), DeviceOptions("emulated", "gpu", 1)]
    machine = Machine(devices)
    with pytest.raises(ValueError, match="compiled segments run on CPUs, 'gpu' is none"):
        compiled_plan(machine, "gemm_narrow", device=1)
    machine.close()
