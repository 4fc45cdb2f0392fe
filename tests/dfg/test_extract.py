from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs, extract
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.native import open_session
from surplus.engine.values import to_value
from tests.dfg.onnx_parts import value, weight


@pytest.fixture
def graph(rich: Path, tmp_path: Path):
    return read(rich, tmp_path / "cache")


def session(graph, model):
    return open_session(model.SerializeToString(), weights_folder=graph.folder)


def test_captures_become_inputs(graph) -> None:
    model = extract(graph, [1])
    assert [v.name for v in model.graph.input] == ["flag", "c"]
    assert [t.name for t in model.graph.initializer] == ["outer"]
    assert session(graph, model).output_names == ["y"]


def test_pieces_one_after_another_equal_the_whole(graph) -> None:
    values = {
        "x": to_value(np.full((3, 32), 0.5, np.float32), TensorProto.FLOAT),
        "flag": to_value(np.array(True), TensorProto.BOOL),
        "d": to_value(np.ones((2, 32), np.float32), TensorProto.FLOAT),
    }
    want = open_session(str(graph.model_path)).run(values, ["q"])[0].to_numpy()
    for index in range(len(graph.tasks)):
        piece = session(graph, extract(graph, [index]))
        made = piece.run({n: values[n] for n in piece.input_names})
        values.update(zip(piece.output_names, made, strict=True))
    np.testing.assert_allclose(values["q"].to_numpy(), want, rtol=1e-5)


def test_boundary_of_a_set(graph) -> None:
    assert boundary_inputs(graph, [1, 2]) == ["flag", "c"]
    assert boundary_outputs(graph, [0, 1, 2]) == ["z", "c"] or boundary_outputs(
        graph, [0, 1, 2]
    ) == ["c", "z"]
    model = extract(graph, [2, 1], ["y", "z"])
    assert [v.name for v in model.graph.output] == ["y", "z"]
    assert [n.op_type for n in model.graph.node] == ["If", "Gelu"]


def test_overridable_default_is_an_input(graph) -> None:
    assert "d" in boundary_inputs(graph, [3])


def test_unread_task_delivers_everything(save, tmp_path: Path) -> None:
    path = save(
        [
            helper.make_node("Relu", ["x"], ["y"]),
            helper.make_node("Dropout", ["y"], ["z", "mask"]),
        ],
        [value("x", [2])],
        [value("z", [2])],
    )
    graph = read(path, tmp_path / "cache")
    last = len(graph.tasks) - 1
    assert "z" in boundary_outputs(graph, [last])


def test_wrong_requests(graph) -> None:
    with pytest.raises(ValueError, match="at least one task"):
        extract(graph, [])
    with pytest.raises(ValueError, match="'q'"):
        extract(graph, [0], ["q"])


def test_weights_are_shared_not_copied(save, tmp_path: Path) -> None:
    path = save(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", [1, 256])],
        [value("y", [1, 256])],
        [weight("w", 256, 256)],
    )
    graph = read(path, tmp_path / "cache")
    model = extract(graph, [0])
    assert len(model.SerializeToString()) < 1000
    feed = {"x": to_value(np.ones((1, 256), np.float32), TensorProto.FLOAT)}
    assert session(graph, model).run(feed)[0].shape == (1, 256)
