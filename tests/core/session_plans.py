"""Small models of a few nodes, for the tests of sessions in plans."""

from onnx import TensorProto, helper


def model(nodes, inputs, outputs):
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_value_info(*item) for item in inputs],
        [helper.make_value_info(*item) for item in outputs],
    )
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
ADD = model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", FLOAT)], [("y", FLOAT)])
