"""What a query must bring, and how a misfit is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import InputError
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.runtime_models import ADD, HEADER, model_of, read_text

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SHIFT = np.ones(3, np.float32)


@pytest.fixture(scope="module", params=["whole", "segments"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PlannedModel:
    graph = read_text(ADD, tmp_path_factory.mktemp("add"))
    return model_of(graph, whole=request.param == "whole")


def test_answer(model: PlannedModel) -> None:
    outputs = model.run({"x": X, "shift": SHIFT})
    assert list(outputs) == ["y"]
    np.testing.assert_array_equal(outputs["y"], 1 - X)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"x": X}, "input 'shift' is missing"),
        ({"x": X, "shift": SHIFT, "z": X}, "unknown input 'z'; there are: shift, x"),
        ({"X": X, "shift": SHIFT}, "unknown input 'X'"),
        ({"x": X.astype(np.float64), "shift": SHIFT}, "'x': expected float32, got float64"),
        ({"x": X.astype(">f4"), "shift": SHIFT}, "'x': >f4 is not in this machine's byte order"),
        ({"x": X.astype(np.int32), "shift": SHIFT}, "'x': expected float32, got int32"),
        ({"x": X[0], "shift": SHIFT}, r"'x': expected shape \(n, 3\), got \(3,\)"),
        ({"x": X.T.copy(), "shift": SHIFT}, r"'x': expected shape \(n, 3\), got \(3, 2\)"),
        ({"x": X, "shift": SHIFT[:2]}, r"'shift': expected shape \(3,\), got \(2,\)"),
        ({"x": None, "shift": SHIFT}, "'x': expected float32, got NoneType"),
        ({"x": "text", "shift": SHIFT}, "'x': expected float32, got <U4"),
        ({"x": [[1, 2, 3], [1]], "shift": SHIFT}, "input 'x': "),
        ({"x": {"a": 1}, "shift": SHIFT}, "'x': expected float32, got dict"),
    ],
)
def test_misfits(model: PlannedModel, inputs: dict[str, Any], message: str) -> None:
    for ask in (model.run, model.submit):
        with pytest.raises(InputError, match=message) as caught:
            ask(inputs)
        assert str(caught.value).count("input '") == 1


@pytest.mark.parametrize(
    "given",
    [
        [[0, 1, 2], [3, 4, 5]],
        X.tolist(),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
    ],
)
def test_what_fits_otherwise(model: PlannedModel, given: Any) -> None:
    np.testing.assert_array_equal(model.run({"x": given, "shift": SHIFT})["y"], 1 - X)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_dynamic_dimension(model: PlannedModel, rows: int) -> None:
    x = np.full((rows, 3), 2, np.float32)
    np.testing.assert_array_equal(model.run({"x": x, "shift": SHIFT})["y"], 1 - x)


def test_specs(model: PlannedModel) -> None:
    assert [(s.name, s.shape, s.optional) for s in model.inputs] == [
        ("x", ("n", 3), False),
        ("shift", (3,), False),
    ]
    assert [s.name for s in model.outputs] == ["y"]


def test_an_unknown_output(model: PlannedModel) -> None:
    with pytest.raises(InputError, match="unknown output 'z'; there are: y"):
        model.run({"x": X, "shift": SHIFT}, outputs=["z"])


COUNT = "count (uint8[k] x) => (uint8[k] y) { y = Identity(x) }"


@pytest.mark.parametrize("given", [[256], [-1], [1.5], ["1"]])
def test_lists_never_lose_their_values(given: list[Any], tmp_path: Path) -> None:
    model = model_of(read_text(COUNT, tmp_path))
    assert model.run({"x": [1, 255]})["y"].tolist() == [1, 255]
    with pytest.raises(InputError, match="'x': expected uint8"):
        model.run({"x": given})


DEFAULT = """
scaled (float[2] x, float[2] by) => (float[2] y)
<float[2] by = {2.0, 3.0}> { t = Neg(x)  y = Mul(t, by) }
"""


@pytest.mark.parametrize("whole", [False, True])
def test_an_input_with_a_default(tmp_path: Path, whole: bool) -> None:
    model = model_of(read_text(DEFAULT, tmp_path), whole=whole)
    x = np.ones(2, np.float32)
    assert [spec.optional for spec in model.inputs] == [False, True]
    assert model.run({"x": x})["y"].tolist() == [-2, -3]
    assert model.run({"x": x, "by": np.full(2, 5, np.float32)})["y"].tolist() == [-5, -5]
    assert model.run({"x": x})["y"].tolist() == [-2, -3]


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: array.tolist()])
def test_a_shape_of_high_rank(wrap: Callable[[Any], Any], tmp_path: Path) -> None:
    model = model_of(_of_any_rank(tmp_path), whole=True)
    with pytest.raises(InputError, match=r"^input 'x': shape of rank 33, at most 32"):
        model.run({"x": wrap(np.ones((1,) * 33, np.float32))})
    assert model.run({"x": np.ones((1,) * 32, np.float32)})["y"].ndim == 32


def _of_any_rank(folder: Path) -> Graph:
    model = onnx.parser.parse_model(HEADER + "any (float x) => (float y) { y = Neg(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "any.onnx")
    return read_model(folder / "any.onnx", folder / "cache")


@pytest.mark.parametrize("size", ["k", "1"])
def test_an_element_that_is_no_text_is_told_of_its_input(size: str, tmp_path: Path) -> None:
    text = f"said (string[{size}] x) => (string[{size}] y) {{ y = Identity(x) }}"
    model = model_of(read_text(text, tmp_path))
    with pytest.raises(InputError, match=r"^input 'x': a tensor of strings holds str or bytes"):
        model.run({"x": np.array([3], object)})
