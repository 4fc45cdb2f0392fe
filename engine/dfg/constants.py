"""Constants of a model: where they are stored, how large they are, what they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from surplus.engine.dfg.captures import all_nodes, sub_graphs

_HALF_BYTE = {onnx.TensorProto.INT4, onnx.TensorProto.UINT4, 23}
"""Element types that take four bits; 23 is FLOAT4E2M1, which older onnx packages do not name."""

_QUARTER_BYTE = {25, 26}
"""UINT2 and INT2, likewise."""


def element_bits(elem_type: int) -> int:
    """Bits of one element; strings count as 64, unknown types as 0."""
    if elem_type in _HALF_BYTE:
        return 4
    if elem_type in _QUARTER_BYTE:
        return 2
    if elem_type == onnx.TensorProto.STRING:
        return 64
    try:
        return 8 * int(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type)).itemsize)
    except (KeyError, ValueError, TypeError):
        return 0


def stored_bytes(elem_type: int, dims: tuple[int, ...]) -> int:
    """Bytes of a dense tensor."""
    return (math.prod(dims) * element_bits(elem_type) + 7) // 8


def constant_bytes(tensor: onnx.TensorProto) -> int:
    """Bytes that a constant takes in memory."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return sum(len(item) for item in tensor.string_data)
    return stored_bytes(tensor.data_type, tuple(tensor.dims))


def external_place(tensor: onnx.TensorProto) -> tuple[str, int, int | None] | None:
    """File, offset and length (None: to the end) of a constant kept outside; None if inside."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return None
    entry = {pair.key: pair.value for pair in tensor.external_data}
    length = entry.get("length")
    return (
        entry.get("location", ""),
        int(entry.get("offset", 0)),
        None if length is None else int(length),
    )


def array_of(tensor: onnx.TensorProto, folder: Path) -> np.ndarray[Any, Any]:
    """The constant's elements; external data is read relative to ``folder``."""
    return np.asarray(numpy_helper.to_array(tensor, str(folder)))


def tensors_of_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every constant in a graph and below: initializers, sparse ones, attributes, bodies."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        yield from tensors_of_node(node)


def tensors_of_node(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
    """Every constant within a node: tensor attributes and those of its bodies."""
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for item in (*sparse, *attribute.sparse_tensors):
            yield from (item.values, item.indices)
    for body in sub_graphs(node):
        yield from tensors_of_graph(body)


def tensors_of_model(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every constant in a model, its local functions included."""
    yield from tensors_of_graph(model.graph)
    for function in model.functions:
        for node in function.node:
            yield from tensors_of_node(node)


def domains_used(model: onnx.ModelProto) -> set[str]:
    """Operator domains that the model's nodes belong to; the standard one is ``""``."""
    nodes = [*model.graph.node, *(n for f in model.functions for n in f.node)]
    return {"" if n.domain == "ai.onnx" else n.domain for n in all_nodes(nodes)} | {""}
