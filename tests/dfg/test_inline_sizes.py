"""Constants that shape inference reads lie within the prepared model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import surplus
from surplus.engine.dfg.constants import external_place
from surplus.engine.dfg.onnx_reader import read

PARTS = 600
"""Of which the sizes take more than a page."""


def split_model(op_type: str = "Split") -> onnx.ModelProto:
    if op_type == "Split":
        names = [f"part{i}" for i in range(PARTS)]
        nodes = [
            helper.make_node("Split", ["x", "sizes"], names, axis=1),
            helper.make_node("Sum", names, ["y"]),
        ]
    else:
        nodes = [
            helper.make_node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1),
            helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=1),
        ]
    graph = helper.make_graph(
        nodes,
        "fields",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", PARTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(PARTS, np.int64), "sizes")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)


@pytest.mark.parametrize("options", [{"tune": "now"}, {"slice_s": 1e-5}])
@pytest.mark.parametrize("op_type", ["Split", "SplitToSequence"])
def test_a_split_into_many_parts_is_planned(
    op_type: str, options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "fields.onnx"
    path.write_bytes(split_model(op_type).SerializeToString())
    model = surplus.load(path, "cpu:2", cache=tmp_path / "cache", **options)
    x = np.arange(2 * PARTS, dtype=np.float32).reshape(2, PARTS)
    right = x.sum(1, keepdims=True) if op_type == "Split" else x
    np.testing.assert_allclose(model.run({"x": x})["y"], right, rtol=1e-5)
    assert "without offline optimisation" not in caplog.text


def test_small_whole_numbers_lie_inside_and_large_ones_do_not(tmp_path: Path) -> None:
    model = split_model()
    large = np.arange(20_000)
    model.graph.initializer.append(numpy_helper.from_array(large, "large"))
    model.graph.node.append(helper.make_node("Gather", ["large", "i"], ["z"]))
    model.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, ["k"]))
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.INT64, ["k"]))
    path = tmp_path / "fields.onnx"
    path.write_bytes(model.SerializeToString())
    graph = read(path, tmp_path / "cache")
    assert external_place(graph.initializers["sizes"]) is None
    assert external_place(graph.initializers["large"]) is not None
