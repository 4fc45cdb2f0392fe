"""Answers with OpenVINO's kernels are those of ONNX Runtime: whole numbers, NaN, sizes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.making import make_table
from surplus.engine.kernels.conformance.table import find_table
from surplus.engine.kernels.registry import installed
from surplus.engine.runtime.model import Model

pytestmark = pytest.mark.skipif(
    "openvino" not in installed(), reason="the wheel openvino is not installed"
)


def _file(folder: Path, text: str, **weights: tuple[int, ...]) -> Path:
    """A model of a body and random weights by name."""
    full = f'<ir_version: 10, opset_import: ["" : 17]>\ngraph {text}'
    model = onnx.parser.parse_model(full)
    rng = np.random.default_rng(0)
    for name, shape in weights.items():
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _load(path: Path, kernels: str, **options: Any) -> Model:
    given = {"cache": path.parent / f"cache-{kernels}", "devices": "cpu:2", "tune": "now"}
    return surplus.load(path, kernels=kernels, **given, **options)


def _check(path: Path, queries: list[dict[str, Any]], kernels: str = "openvino") -> Model:
    """That a model answers as ONNX Runtime does: whole numbers and what is not finite exactly."""
    plain, model = _load(path, "onnxruntime"), _load(path, kernels)
    for query in queries:
        right, found = plain.run(query), model.run(query)
        for name, array in right.items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(found[name], array)
    return model


HASHED = """(int64[4, 8] user, int64[4, 8] item, float[4, 8] x)
    => (float[4, 4] y, int64[4, 8] slot, int64[4, 1] total, bool[4, 8] same)
    <int64 k = {31}, int64 p = {1000}, int64[1] ax = {1}>
    { m = Mul(user, k) h = Add(m, item) slot = Mod(h, p) row = Gather(table, slot)
      e = ReduceSum<keepdims=0>(row, ax) total = ReduceSum(user, ax) same = Equal(user, item)
      t = Add(e, x) d = MatMul(t, w) y = Relu(d) }"""


def _hashed(folder: Path) -> Path:
    """A click model: identifiers are hashed, summed and compared, then a perceptron."""
    return _file(folder, HASHED, table=(1000, 8), w=(8, 4))


def _identifiers() -> list[dict[str, Any]]:
    x = np.ones((4, 8), np.float32)
    user = np.full((4, 8), 2**24 + 1)
    large = np.full((4, 8), 2**31 - 1)
    return [
        {"user": user, "item": user - 1, "x": x},
        {"user": large, "item": large - 1, "x": x},
        {"user": large * 3, "item": -large, "x": x},
        {"user": np.arange(32).reshape(4, 8), "item": np.arange(32).reshape(4, 8), "x": x},
    ]


@pytest.mark.parametrize("kernels", ["openvino", "auto"])
def test_identifiers_are_hashed_summed_and_compared_as_whole_numbers(
    tmp_path: Path, kernels: str
) -> None:
    _check(_hashed(tmp_path), _identifiers(), kernels)


def test_a_stored_plan_of_the_command_line_answers_so_too(tmp_path: Path) -> None:
    path = _hashed(tmp_path)
    command = [sys.executable, "-m", "surplus.engine.cli.main", "run", str(path)]
    options = ["--kernels", "auto", "--devices", "cpu:2", "--cache", str(tmp_path / "cache-auto")]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=300)
    _check(path, _identifiers(), "auto")


def _perceptron(folder: Path, body: str) -> Path:
    return _file(folder, f"(float[4, 8] x) => (float[4, 8] y) {body}", w=(8, 8))


def _rows() -> list[dict[str, Any]]:
    rows = [np.random.default_rng(seed).standard_normal((4, 8)).astype("f4") for seed in range(4)]
    rows[1][2, 5] = np.nan
    rows[2][0, 0], rows[2][3, 7] = np.inf, -np.inf
    rows[3][:] = np.nan
    return [{"x": row} for row in rows]


@pytest.mark.parametrize(
    "body",
    [
        "{ a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) y = Softmax(c) }",
        "{ a = MatMul(x, w) b = Exp(a) y = Sigmoid(b) }",
        "{ a = MatMul(x, w) b = Max(a, x) y = Relu(b) }",
    ],
)
def test_a_query_with_a_number_that_is_not_finite_is_onnx_runtimes(
    tmp_path: Path, body: str
) -> None:
    model = _check(_perceptron(tmp_path, body), _rows())
    assert "OpenVINO" in model.facts["kernels"]  # of all others


@pytest.mark.parametrize(
    "body",
    [
        "{ a = MatMul(x, w) b = Log(a) y = Relu(b) }",
        "{ a = MatMul(x, w) b = Sqrt(a) y = Softmax(b) }",
        "{ a = Sub(x, x) b = Div(x, a) c = MatMul(b, w) y = Relu(c) }",
    ],
)
def test_what_makes_such_numbers_is_not_followed_by_what_loses_them(
    tmp_path: Path, body: str
) -> None:
    _check(_perceptron(tmp_path, body), _rows())


def test_repeats_that_a_query_says(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        "(float[2, 3] x, int64[2] r) => (float[a, b] y) { n = Neg(x) t = Tile(n, r) y = Relu(t) }",
    )
    x = np.random.default_rng(2).standard_normal((2, 3)).astype("f4")
    _check(path, [{"x": x, "r": np.array(r)} for r in ([1, 1], [9, 1], [7, 6], [1, 1])])


def test_a_copy_for_sizes_that_few_queries_have_is_dropped(tmp_path: Path) -> None:
    path = _file(
        tmp_path, "(float[n, 8] x) => (float[n, 8] y) { a = Neg(x) b = Exp(a) y = Relu(b) }"
    )
    plain = _load(path, "onnxruntime")
    model = _load(path, "openvino", inputs={"x": np.ones((2, 8), "f4")})
    assert "dropped_kernels" not in model.facts
    for i in range(64):
        query = {"x": np.full((3 + i % 5, 8), 0.5, "f4")}
        np.testing.assert_array_equal(model.run(query)["y"], plain.run(query)["y"])
    assert "most queries had other sizes" in model.facts["dropped_kernels"]
    query = {"x": np.full((2, 8), 0.5, "f4")}
    np.testing.assert_array_equal(model.run(query)["y"], plain.run(query)["y"])


def test_the_table_that_is_shipped_says_what_it_should() -> None:
    table = find_table("openvino", installed()["openvino"])
    if table is None:
        pytest.skip("no table of this version on this processor")
    floats = "float32->float32"
    for operator in ("MatMul", "Conv", "Add", "Mul", "Relu", "Reshape", "Transpose", "MaxPool"):
        assert table.holds(operator, floats, Aspect.FINITE), operator
    assert not table.holds("Tile", floats, Aspect.SIZES)
    assert not table.holds("Relu", floats, Aspect.SPECIAL)


@pytest.mark.slow
def test_the_table_that_is_shipped_is_what_is_found_here() -> None:
    version = installed()["openvino"]
    shipped = find_table("openvino", version)
    if shipped is None:
        pytest.skip("no table of this version on this processor")
    found = make_table("openvino", version)
    assert found.operators == shipped.operators


@pytest.mark.parametrize("operator", ["Gather", "GatherND"])
def test_a_place_out_of_range_is_refused_and_ends_nothing(tmp_path: Path, operator: str) -> None:
    """The library answers something, or reads so far away that the process ends."""
    text = f"""(float[4, 4] x, int64[4, 1] i) => (float[n, m] side, float[4, k] y)
        <int64[2] s = {{4, 3}}>
        {{ p = MatMul(x, w) side = Neg(p) rows = {operator}(table, i) y = Reshape(rows, s) }}"""
    path = _file(tmp_path, text, w=(4, 4), table=(9, 3))
    model = _load(path, "openvino")
    x = np.ones((4, 4), np.float32)
    for far in (9, 10**6, -10):
        with pytest.raises(surplus.ExecutionError, match=f"{operator}.*(out of|invalid)"):
            model.run({"x": x, "i": np.array([[0], [far], [1], [2]])})
        model.run({"x": x, "i": np.array([[0], [8], [1], [-9]])})
