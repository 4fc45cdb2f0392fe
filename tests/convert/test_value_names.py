"""New names of inputs and outputs reach the bodies of control flow, too."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from surplus.engine.convert.value_names import rename
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value


def _branch(name: str, op_type: str) -> onnx.GraphProto:
    nodes = [
        helper.make_node(op_type, ["old_in"], ["x"]),
        helper.make_node("Identity", ["x"], [name]),
    ]
    return helper.make_graph(nodes, name, [], [_value(name)])


def _value(name: str, elem_type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, elem_type, None)


def test_values_inside_make_way_in_every_body() -> None:
    branches = {"then_branch": _branch("a", "Neg"), "else_branch": _branch("b", "Abs")}
    nodes = [helper.make_node("If", ["old_if"], ["old_out"], **branches)]
    inputs = [_value("old_in"), _value("old_if", TensorProto.BOOL)]
    graph = helper.make_graph(nodes, "g", inputs, [_value("old_out")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    rename(model, {"old_in": "x", "old_if": "a", "old_out": "b"})
    session = open_session(model.SerializeToString())
    x = np.array([-2, 3], np.float32)
    for chosen, expected in ((True, -x), (False, np.abs(x))):
        (output,) = session.run({"x": to_value(x), "a": to_value(np.array(chosen))})
        np.testing.assert_array_equal(from_value(output), expected)
    assert session.output_names == ["b"]
