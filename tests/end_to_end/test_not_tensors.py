"""Maps and strings: the same Python objects as ONNX Runtime's package gives, on every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import surplus
from surplus.engine.errors import ExecutionError, InputError
from surplus.engine.pipeline.load import load_planned

KEYS: dict[str, tuple[int, dict[str, Any]]] = {
    "numbers": (TensorProto.INT64, {"classlabels_int64s": [7, -1, 2**40]}),
    "words": (TensorProto.STRING, {"classlabels_strings": ["a", "", "größer"]}),
}


def _saved(path: Path, graph: onnx.GraphProto) -> Path:
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def _maps(path: Path, keys: str) -> Path:
    code, labels = KEYS[keys]
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(code, number))
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("ZipMap", ["r"], ["y"], domain="ai.onnx.ml", **labels),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_value_info("y", kind)
    return _saved(path, helper.make_graph(nodes, "maps", [x], [y]))


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_maps_are_dicts(tmp_path: Path, keys: str, rows: int) -> None:
    path = _maps(tmp_path / "maps.onnx", keys)
    x = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
    (right,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    model = load_planned(path, "cpu:1", cache=tmp_path / "cache")
    for found in (
        model.run({"x": x})["y"],
        model.run({"x": x}, outputs=["y"])["y"],
        model.submit({"x": x}).result()["y"],
    ):
        assert found == right
        assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in right]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("echo")
    x, y = (helper.make_tensor_value_info(n, TensorProto.STRING, ["n", 2]) for n in "xy")
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    path = _saved(folder / "echo.onnx", helper.make_graph(nodes, "echo", [x], [y]))
    return load_planned(path, "cpu:1", cache=folder / "cache")


ODD = np.array([["", "a\0b"], ["größer", "\udcff"], ["\U0001f600", "x" * 5000]], object)


@pytest.mark.parametrize("array", [ODD, ODD[::-1], ODD.T[:, :2], np.array([["ab", "c"]]), ODD[:0]])
def test_strings_come_back(echo: Any, array: np.ndarray) -> None:
    for found in (echo.run({"x": array})["y"], echo.submit({"x": array}).result()["y"]):
        assert found.dtype == object
        assert found.shape == array.shape
        assert found.tolist() == array.tolist()


def test_a_query_keeps_strings_that_its_caller_changes(echo: Any) -> None:
    array = np.array([["a", "b"]], object)
    query = echo.submit({"x": array})
    array[0, 0] = "changed"
    assert query.result()["y"].tolist() == [["a", "b"]]


@pytest.mark.parametrize("wrong", [1.5, None, ["a"]])
def test_what_is_no_string_is_named(echo: Any, wrong: object) -> None:
    array = np.array([["a", "b"]], object)
    array[0, 1] = wrong
    with pytest.raises(InputError, match=r"input 'x': .*str or bytes, not"):
        echo.run({"x": array})


def test_rows_are_delivered_instead_of_maps(tmp_path: Path) -> None:
    """Which makes the dicts in the order of their keys; with another number of columns it fails."""
    path = _maps(tmp_path / "maps.onnx", "numbers")
    model = load_planned(path, "cpu:1", cache=tmp_path / "cache", tune="now")
    assert [task.op_type for task in model.graph.tasks] == ["Relu"]
    x = np.arange(3, dtype=np.float32)[None]
    (row,) = model.run({"x": x})["y"]
    assert list(row.items()) == [(-1, 1.0), (7, 0.0), (2**40, 2.0)]
    session = surplus.InferenceSession(path, cache=tmp_path / "cache")
    (output,) = session.get_outputs()
    (right,) = onnxruntime.InferenceSession(path).get_outputs()
    assert output.type.startswith("seq")
    assert right.type.startswith("seq")


OPEN = (["n", "m"], ["m"])


@pytest.mark.parametrize("shape", OPEN)
def test_rows_of_any_size(tmp_path: Path, shape: list[str]) -> None:
    path = _maps(tmp_path / "maps.onnx", "words")
    proto = onnx.load(path)
    proto.graph.input[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, shape))
    onnx.save(proto, path)
    x = np.ones((1,) * (len(shape) - 1) + (3,), np.float32)
    (right,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    model = load_planned(path, "cpu:1", cache=tmp_path / "cache", inputs={"x": x})
    assert model.run({"x": x})["y"] == right
    wide = {"x": np.ones((*x.shape[:-1], 4), np.float32)}
    for ask in (
        lambda: model.run(wide),
        lambda: model.run(wide, ["y"]),
        lambda: model.submit(wide).result(),
    ):
        with pytest.raises(ExecutionError, match="rows of 4 for 3 labels of ZipMap"):
            ask()


def test_maps_that_are_read_or_come_twice_stay(tmp_path: Path) -> None:
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, number))
    nodes = [
        helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[1, 1, 2])
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    path = _saved(
        tmp_path / "twice.onnx",
        helper.make_graph(nodes, "twice", [x], [helper.make_value_info("y", maps)]),
    )
    query = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    (right,) = onnxruntime.InferenceSession(path).run(None, query)
    model = load_planned(path, "cpu:1", cache=tmp_path / "cache", tune="now")
    assert [task.op_type for task in model.graph.tasks] == ["ai.onnx.ml.ZipMap"]
    assert model.run(query)["y"] == right
