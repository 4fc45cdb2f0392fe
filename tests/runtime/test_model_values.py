"""Outputs of every kind: requested ones, passed through, constant, empty, text, sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import InputError
from surplus.engine.runtime.planned_model import PlannedModel
from tests.device_lists import STREAMS, with_wanted
from tests.runtime.runtime_models import model_of, read_text

DEVICES = with_wanted("cpu:1", "cpu:1,emulated:gpu", STREAMS)


@pytest.fixture(params=["whole", *DEVICES])
def ready(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes a model of a text, in one segment or in many."""

    def make(text: str) -> PlannedModel:
        graph = read_text(text, tmp_path)
        return (
            model_of(graph, whole=True)
            if request.param == "whole"
            else model_of(graph, request.param)
        )

    return make


TWO = "two (float[2] x) => (float[2] a, float[2] b) { a = Neg(x)  b = Add(a, x) }"


@pytest.mark.parametrize("wanted", [["b"], ["b", "a"], ["a", "b"], []])
def test_requested_outputs(ready: Any, wanted: list[str]) -> None:
    x = np.ones(2, np.float32)
    right = {"a": [-1, -1], "b": [0, 0]}
    model = ready(TWO)
    for outputs in (model.run({"x": x}, wanted), model.submit({"x": x}, wanted).result()):
        assert list(outputs) == wanted
        assert {name: array.tolist() for name, array in outputs.items()} == {
            name: right[name] for name in wanted
        }


PASSED = """
passed (float[2] x) => (float[2] x, float[2] c, float[2] y)
<float[2] c = {7.0, 8.0}> { y = Neg(x) }
"""


def test_outputs_that_nothing_computes(ready: Any) -> None:
    outputs = ready(PASSED).run({"x": np.ones(2, np.float32)})
    assert {name: array.tolist() for name, array in outputs.items()} == {
        "x": [1, 1], "c": [7, 8], "y": [-1, -1],
    }  # fmt: skip
    assert list(outputs) == ["x", "c", "y"]


def test_a_model_without_tasks(tmp_path: Path) -> None:
    model = model_of(read_text("none (float[n] x) => (float[n] x) { }", tmp_path))
    x = np.arange(3, dtype=np.float32)
    assert model.run({"x": x})["x"].tolist() == [0, 1, 2]
    assert model.submit({"x": x}).result()["x"].tolist() == [0, 1, 2]


SHAPES = "shapes (float[n, m] x) => (float[m, n] y, int64[2] s) { y = Transpose(x)  s = Shape(x) }"


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (0, 4), (4, 0), (0, 0)])
def test_shapes_differ_from_query_to_query(ready: Any, shape: tuple[int, int]) -> None:
    model = ready(SHAPES)
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    outputs = model.run({"x": x})
    np.testing.assert_array_equal(outputs["y"], x.T, strict=True)
    assert outputs["s"].tolist() == list(shape)


SCALAR = "scalar (float x) => (float y) { t = Neg(x)  y = Neg(t) }"


@pytest.mark.parametrize("given", [2.5, np.float32(2.5), np.array(2.5, np.float32)])
def test_scalars(ready: Any, given: Any) -> None:
    found = ready(SCALAR).run({"x": given})["y"]
    assert (found.shape, found.dtype, found.item()) == ((), np.float32, 2.5)


TEXT = "text (string[n] x) => (string[n] y, string[n] x) { y = Identity(x) }"


@pytest.mark.parametrize(
    "given", [["a", "äöü", ""], np.array(["a", "äöü", ""]), np.array(["a", "äöü", ""], object)]
)
def test_text(ready: Any, given: Any) -> None:
    outputs = ready(TEXT).run({"x": given})
    assert outputs["y"].tolist() == outputs["x"].tolist() == ["a", "äöü", ""]


def test_text_must_be_text(ready: Any) -> None:
    with pytest.raises(InputError, match="'x'"):
        ready(TEXT).run({"x": np.ones(2, np.float32)})


SPLIT = (
    "cut (float[n, 2] x) => (seq(float[k, 2]) y) { t = Neg(x)  y = SplitToSequence <axis = 0> (t) }"
)


def test_a_sequence_comes_out(ready: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    found = ready(SPLIT).run({"x": x})["y"]
    assert [item.tolist() for item in found] == [[row] for row in (-x).tolist()]


JOIN = (
    "join (seq(float[k]) x) => (float[m] y) { t = ConcatFromSequence <axis = 0> (x)  y = Neg(t) }"
)


def test_a_sequence_goes_in(ready: Any) -> None:
    items = [np.ones(2, np.float32), np.full(1, 3, np.float32)]
    assert ready(JOIN).run({"x": items})["y"].tolist() == [-1, -1, -3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(2, np.float32), "expected a list of arrays, got ndarray"),
        ([np.ones(2)], "expected elements of float32"),
        ([None], "a sequence of tensors cannot hold None"),
        (None, "expected a list of arrays, got NoneType"),
    ],
)
def test_a_sequence_that_is_none(ready: Any, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"input 'x': {message}"):
        ready(JOIN).run({"x": given})


TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "double"]  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_element_types(name: str, tmp_path: Path) -> None:
    graph = read_text(
        f"t ({name}[2] x) => ({name}[4] y) {{ y = Concat <axis=0> (x, x) }}", tmp_path
    )
    x = np.array([0, 1], "float64" if name == "double" else name)
    found = model_of(graph).run({"x": x})["y"]
    np.testing.assert_array_equal(found, np.concatenate([x, x]), strict=True)


def test_an_answer_outlives_its_model(tmp_path: Path) -> None:
    model = model_of(read_text(TWO, tmp_path))
    outputs = model.run({"x": np.ones(2, np.float32)})
    del model
    assert outputs["a"].tolist() == [-1, -1]


def test_an_input_may_change_once_answered(ready: Any) -> None:
    x = np.ones(2, np.float32)
    outputs = ready(PASSED).run({"x": x})
    x[:] = 5
    assert outputs["y"].tolist() == [-1, -1]
