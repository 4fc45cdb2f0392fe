"""Outputs whose sizes depend on the data, from OpenVINO's kernels: answers, threads, failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.engine.kernels.registry import installed
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.planned_model import PlannedModel

pytestmark = pytest.mark.skipif(
    "openvino" not in installed(), reason="the wheel openvino is not installed"
)

SIDE = 48


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Convolutions; where the image is not black; what they answer there."""
    random = np.random.default_rng(0)
    weights = [
        onnx.numpy_helper.from_array(0.05 * random.standard_normal(shape).astype(np.float32), name)
        for name, shape in {"w1": (32, 3, 3, 3), "w2": (32, 32, 3, 3), "w3": (1, 32, 3, 3)}.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w3"], ["e"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["e"], ["sized"]),
        helper.make_node("ReduceMean", ["sized"], ["mean"], keepdims=0),
        helper.make_node("ReduceMax", ["x"], ["light"], axes=[1]),
        helper.make_node("NonZero", ["light"], ["where"]),
        helper.make_node("Transpose", ["where"], ["rows"], perm=[1, 0]),
        helper.make_node("GatherND", ["sized", "rows"], ["values"]),
        helper.make_node("Identity", ["rows"], ["again"]),
    ]
    extents: dict[str, tuple[int, list[int | str]]] = {
        "sized": (TensorProto.FLOAT, [1, 1, SIDE, SIDE]),
        "rows": (TensorProto.INT64, ["k", 4]),
        "again": (TensorProto.INT64, ["k", 4]),
        "values": (TensorProto.FLOAT, ["k"]),
        "mean": (TensorProto.FLOAT, []),
    }
    graph = helper.make_graph(
        nodes,
        "lit",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(name, *row) for name, row in extents.items()],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "lit.onnx"
    onnx.save(model, path)
    return path


def _image(lit: int, seed: int = 0) -> dict[str, Any]:
    """Black but for the first `lit` columns."""
    data = np.random.default_rng(seed).standard_normal((1, 3, SIDE, SIDE)).astype(np.float32)
    data[..., lit:] = 0
    return {"x": data}


def _load(path: Path, kernels: str = "openvino", devices: str = "cpu:1") -> PlannedModel:
    return load_planned(
        path,
        cache=path.parent / "cache",
        devices=devices,
        kernels=kernels,
        selection_s=0,
        inputs=_image(SIDE // 2),
    )


def test_answers_grow_shrink_and_are_empty(path: Path) -> None:
    plain, model = _load(path, "onnxruntime"), _load(path)
    assert model.plan.libraries == ("openvino",)
    held = []
    for lit in (3, 0, SIDE, 10, SIDE, 0, 1):
        given = _image(lit, seed=lit)
        right, found = plain.run(given), model.run(given)
        assert found["rows"].shape == right["rows"].shape
        assert len(found["values"]) == lit * SIDE
        held.append((right, found))
    for right, found in held:  # none is written by a later run
        for name in ("rows", "again"):
            assert np.array_equal(right[name], found[name])
        for name in ("sized", "values", "mean"):
            assert np.allclose(right[name], found[name], rtol=1e-4, atol=1e-4)
    assert model.warning == ""


WOKEN = """
import os, pathlib, sys
sys.path[:0] = {path!r}
from tests.kernels.test_openvino_sizes import SIDE, _image, _load

def sleeps():
    found = {{}}
    for thread in pathlib.Path("/proc/self/task").iterdir():
        words = (thread / "status").read_text().split()
        found[thread.name] = int(words[words.index("voluntary_ctxt_switches:") + 1])
    return found

def asked(model):
    for _ in range(5):
        model.run(_image(SIDE))
    return sleeps()

file = pathlib.Path({file!r})
lanes = asked(_load(file, "onnxruntime"))
model = _load(file)
assert model.plan.libraries == ("openvino",)
before = asked(model)
for _ in range(30):
    model.run(_image(SIDE))
print(sorted(n - before[thread] for thread, n in sleeps().items()
             if thread in before and thread not in lanes))
"""


def test_threads_of_the_library_are_not_woken(path: Path) -> None:
    """The lane's own computes: those that came with the library sleep through 30 queries."""
    code = WOKEN.format(path=sys.path, file=str(path))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    woken = json.loads(done.stdout)
    assert woken
    assert max(woken) < 30


def test_a_run_that_fails_without_an_error_is_found_out(tmp_path: Path) -> None:
    """One whose sizes do not fit, which OpenVINO keeps to itself; what fits is just passed on."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "sizes"], ["y"]), helper.make_node("Exp", ["x"], ["z"])],
        "reshaped",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [64]),
            helper.make_tensor_value_info("sizes", TensorProto.INT64, [2]),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [64]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "reshaped.onnx")
    code = f"""
import numpy as np
from surplus.engine.errors import ExecutionError
from surplus.engine.pipeline.load import load_planned
x = np.arange(64, dtype=np.float32)
def given(*sizes): return dict(x=x, sizes=np.array(sizes))
model = load_planned({str(tmp_path / "reshaped.onnx")!r}, cache={str(tmp_path / "cache")!r},
                     devices="cpu:1", kernels="openvino", selection_s=0, inputs=given(8, 8))
assert model.plan.libraries == ("openvino",)
def answers(): return all(np.array_equal(model.run(given(*s))["y"], x.reshape(s))
                          for s in ((8, 8), (1, 64), (64, 1), (2, 32)))
assert answers() and model.warning == ""
try:
    model.run(given(8, 9))
except ExecutionError as error:
    print(error)
assert answers()
print(model.warning)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Reshape" in done.stdout
    assert "a run ended without an answer and without an error" in done.stdout
