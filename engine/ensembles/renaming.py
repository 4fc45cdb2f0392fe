"""Other names for all that a graph names, so that several fit into one."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from surplus.engine.dfg.captures import all_nodes, sub_graphs

NewName = Callable[[str], str]


def rename_values(graph: onnx.GraphProto, new_name: NewName) -> None:
    """Give every value of a graph, and of the bodies below, another name.

    Parameters
    ----------
    new_name : callable
        No two names may become one; so what a body reads from outside it still finds there.
    """
    for node in graph.node:
        _rename_node(node, new_name)
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = new_name(value.name)
    for tensor in graph.initializer:
        tensor.name = new_name(tensor.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = new_name(sparse.values.name)
    for note in graph.quantization_annotation:
        note.tensor_name = new_name(note.tensor_name)
        for pair in note.quant_parameter_tensor_names:
            pair.value = new_name(pair.value)


def rename_sizes(graph: onnx.GraphProto, new_name: NewName) -> None:
    """The same for open sizes: that two models call one ``N`` does not make it the same."""
    for node in graph.node:
        for body in sub_graphs(node):
            rename_sizes(body, new_name)
    for value in (*graph.input, *graph.output, *graph.value_info):
        _rename_sizes_of(value.type, new_name)


def rename_functions(model: onnx.ModelProto, prefix: str) -> None:
    """The same for the functions that a model brings along."""
    own = {(function.domain, function.name) for function in model.functions}
    bodies = [node for function in model.functions for node in function.node]
    for node in all_nodes([*model.graph.node, *bodies]):
        if (node.domain, node.op_type) in own:
            node.op_type = prefix + node.op_type
    for function in model.functions:
        function.name = prefix + function.name


def _rename_node(node: onnx.NodeProto, new_name: NewName) -> None:
    node.input[:] = [name and new_name(name) for name in node.input]
    node.output[:] = [name and new_name(name) for name in node.output]
    if node.name:
        node.name = new_name(node.name)
    for body in sub_graphs(node):
        rename_values(body, new_name)


def _rename_sizes_of(kind: onnx.TypeProto, new_name: NewName) -> None:
    which = kind.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        for size in getattr(kind, which).shape.dim:
            if size.HasField("dim_param"):
                size.dim_param = new_name(size.dim_param)
    elif which in ("sequence_type", "optional_type"):
        _rename_sizes_of(getattr(kind, which).elem_type, new_name)
    elif which == "map_type":
        _rename_sizes_of(kind.map_type.value_type, new_name)
