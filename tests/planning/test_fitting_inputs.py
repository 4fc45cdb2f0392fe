"""Inputs are made up such that the model runs with them; where none do, it runs whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from surplus.engine.errors import ExecutionError
from surplus.engine.examples.fitting import fitting_inputs
from surplus.engine.examples.made_up import example_inputs
from surplus.engine.native import open_session
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.making import tune_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stages import read_model
from surplus.engine.values import to_value

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'

TAKEN = {
    "a product with a constant": "g (float[n,k] x) => (float[n,3] y) { y = MatMul(x, w) }",
    "two inputs of one size": "g (float[n,a] x, float[b,4] z) => (float[n,4] y)"
    " { p = MatMul(x, z) q = MatMul(x, w) y = Concat<axis=1>(p, q) }",
    "indices": "g (float[5] x, int64[n] i) => (float[m] y) { y = Gather(x, i) }",
    "sizes": "g (float[2,3] x, int64[2] s) => (float[a,b] y) { y = Reshape(x, s) }",
    "a count": "g (float[2,3] x, int64[1] k) => (float[a,b] y, int64[a,b] i) { y, i = TopK(x, k) }",
    "steps": "g (float[4] x, int64[1] a, int64[1] b, int64[1] c, int64[1] d) => (float[n] y)"
    " { y = Slice(x, a, b, c, d) }",
    "distance": "g (int64 a, int64 b, int64 c) => (int64[n] y) { y = Range(a, b, c) }",
    "repeats": "g (float[2,3] x, int64[2] r) => (float[a,b] y) { y = Tile(x, r) }",
    "one size of many": "g (float[a,b,c,d] x) => (float[1,3] y)"
    " { f = Flatten<axis=0>(x) y = MatMul(f, wide) }",
    "a length of a text": "g (int64[n,length] x) => (float[n,length,2] y)"
    " { e = Gather(table, x) y = Add(e, places) }",
}


def _model(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(HEADER + text)
    rng = np.random.default_rng(0)
    shapes = {"w": (7, 3), "table": (2, 2), "places": (9, 2), "wide": (960, 3)}
    if "two inputs" in text or "MatMul(x, z)" in text:
        shapes["w"] = (6, 3)
    del model.graph.initializer[:]
    read = {name for node in model.graph.node for name in node.input}
    for name in read & shapes.keys():
        array = rng.standard_normal(shapes[name]).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    return model


def _save(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(_model(text).SerializeToString())
    return path


@pytest.mark.parametrize("name", TAKEN)
def test_made_up_inputs_run(name: str, tmp_path: Path) -> None:
    path = _save(tmp_path, TAKEN[name])
    graph = read_model(path, tmp_path / "cache")
    found = example_inputs(graph, path)
    session = open_session(str(path), level="disable_all")
    session.run({n: to_value(np.asarray(found[n])) for n in session.input_names})
    again = example_inputs(graph, path)
    assert all(np.array_equal(found[n], again[n]) for n in found)


def _far(tmp_path: Path) -> Path:
    """It takes indices of about -70,000, which nobody guesses."""
    model = _model(
        "g (int64[n] i, float[3] x) => (float[m] y) { j = Add(i, far) y = Gather(x, j) }"
    )
    far = onnx.numpy_helper.from_array(np.array([70_000]), "far")
    model.graph.initializer.append(far)
    path = tmp_path / "far.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_nothing_is_found_for_what_nobody_guesses(tmp_path: Path) -> None:
    assert fitting_inputs(read_model(_far(tmp_path), tmp_path / "cache"), {}) is None


@pytest.mark.parametrize("devices", ["cpu:2", "cpu:1,emulated:gpu"])
def test_such_a_model_runs_whole_and_the_log_says_why(
    tmp_path: Path, devices: str, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {"cache": tmp_path / "cache", "tune": "now"}
    query = {"i": np.array([-69_999, -70_000]), "x": np.array([3, 4, 5], np.float32)}
    for told in (True, False):  # made, and from the cache
        caplog.clear()
        model = load_planned(_far(tmp_path), devices, **options)
        assert ("the whole model runs in one session" in caplog.text) == told
        assert len(model.plan.segments) == 1
        np.testing.assert_array_equal(model.run(query)["y"], [4, 3])


def test_it_cannot_be_tuned(tmp_path: Path) -> None:
    params = LoadParams("cpu:2", cache=tmp_path / "cache", tune_s=0.1)
    with pytest.raises(ExecutionError, match="far: no plan can be measured"):
        tune_with(_far(tmp_path), params)
