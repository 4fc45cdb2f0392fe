"""From a basic-optimised model to its data-flow graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from surplus.engine.dfg.captures import captures, reads
from surplus.engine.dfg.constants import constant_bytes, tensors_of_node
from surplus.engine.dfg.content import Content, GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.graph_tensor import Dim, GraphTensor, ValueKind
from surplus.engine.dfg.node_order import depth_first

_SHAPE_READERS = {"Shape", "Size"}

_KINDS = {
    "tensor_type": ValueKind.TENSOR,
    "sequence_type": ValueKind.SEQUENCE,
    "optional_type": ValueKind.OPTIONAL,
    "map_type": ValueKind.MAP,
    "sparse_tensor_type": ValueKind.SPARSE,
}


def build(name: str, model: onnx.ModelProto, model_path: Path, source_hash: str) -> Graph:
    """The graph of a model that is in memory.

    Parameters
    ----------
    name : str
        The graph's name.
    model_path : Path
        The model's own file; its folder holds the external weights.
    """
    content = content_of(model)
    return Graph(name, model_path, source_hash, lambda: content)


def content_of(model: onnx.ModelProto) -> Content:
    """A model's tasks, in the order of node_order.py, and tensors."""
    nodes = depth_first(model.graph)
    names = _Names.of(model.graph, nodes)
    indices = {value: i for i, value in enumerate(names.tensors)}
    return Content(
        tasks=_tasks(nodes, indices, names.constants),
        tensors=_tensors(model.graph, nodes, names),
        inputs=tuple(indices[n] for n in names.inputs),
        outputs=tuple(indices[v.name] for v in model.graph.output),
        model=model,
    )


@dataclass(frozen=True)
class _Names:
    inputs: tuple[str, ...]
    constants: dict[str, int]
    """Initializers that no input overrides, with their bytes."""
    tensors: tuple[str, ...]

    @staticmethod
    def of(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto]) -> _Names:
        inputs = tuple(dict.fromkeys(value.name for value in graph.input))
        sizes = {tensor.name: constant_bytes(tensor) for tensor in graph.initializer}
        for sparse in graph.sparse_initializer:
            size = constant_bytes(sparse.values) + constant_bytes(sparse.indices)
            sizes[sparse.values.name] = size
        constants = {n: size for n, size in sizes.items() if n not in set(inputs)}
        made = (name for node in nodes for name in node.output if name)
        ends = (value.name for value in graph.output)
        return _Names(inputs, constants, tuple(dict.fromkeys([*inputs, *made, *ends])))


def _tasks(
    nodes: Sequence[onnx.NodeProto], indices: dict[str, int], constants: dict[str, int]
) -> tuple[GraphTask, ...]:
    used: set[str] = set()
    tasks = []
    for node in nodes:
        names = reads(node)
        held = tuple(n for n in names if n in constants)
        inner = sum(constant_bytes(tensor) for tensor in tensors_of_node(node))
        tasks.append(
            GraphTask(
                name=_unique(node, used),
                node=node,
                inputs=tuple(indices[n] for n in names if n not in constants),
                outputs=tuple(indices[n] for n in node.output if n),
                initializers=held,
                weight_bytes=sum(constants[n] for n in held) + inner,
            )
        )
    return tuple(tasks)


def _unique(node: onnx.NodeProto, used: set[str]) -> str:
    first = node.name or f"{node.op_type}:{next(filter(None, node.output), '')}"
    name, count = first, 1
    while name in used:
        count += 1
        name = f"{first}#{count}"
    used.add(name)
    return name


def _tensors(
    graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], names: _Names
) -> tuple[GraphTensor, ...]:
    types = {v.name: v.type for v in (*graph.value_info, *graph.output, *graph.input)}
    types.update(_constant_types(graph, names))
    producer = {n: i for i, node in enumerate(nodes) for n in node.output if n}
    consumers: dict[str, list[int]] = {}
    content_read: set[str] = set()
    for index, node in enumerate(nodes):
        for name in reads(node):
            consumers.setdefault(name, []).append(index)
        content_read.update(_reads_content(node))
    ends = {value.name for value in graph.output}
    return tuple(
        _tensor(
            name,
            producer.get(name, -1),
            tuple(consumers.get(name, ())),
            types.get(name, onnx.TypeProto()),
            is_output=name in ends,
            metadata_only=name in consumers and name not in content_read and name not in ends,
        )
        for name in names.tensors
    )


def _constant_types(graph: onnx.GraphProto, names: _Names) -> dict[str, onnx.TypeProto]:
    return {
        t.name: onnx.helper.make_tensor_type_proto(t.data_type, t.dims)
        for t in graph.initializer
        if t.name in names.constants
    }


def _reads_content(node: onnx.NodeProto) -> Iterable[str]:
    if node.op_type in _SHAPE_READERS and node.domain in ("", "ai.onnx"):
        return captures(node)
    return reads(node)


def _tensor(
    name: str,
    producer: int,
    consumers: tuple[int, ...],
    kind: onnx.TypeProto,
    *,
    is_output: bool,
    metadata_only: bool,
) -> GraphTensor:
    which = kind.WhichOneof("value") or "tensor_type"
    return GraphTensor(
        name=name,
        producer=producer,
        consumers=consumers,
        elem_type=_elem_type(kind),
        shape=_shape(kind) if which == "tensor_type" else None,
        kind=_KINDS.get(which, ValueKind.TENSOR),
        is_output=is_output,
        metadata_only=metadata_only,
    )


def _elem_type(kind: onnx.TypeProto) -> int:
    """Element type of the tensor, or of the tensors within a sequence or an optional."""
    which = kind.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        return int(getattr(kind, which).elem_type)
    if which in ("sequence_type", "optional_type"):
        return _elem_type(getattr(kind, which).elem_type)
    return 0


def _shape(kind: onnx.TypeProto) -> tuple[Dim, ...] | None:
    if not kind.tensor_type.HasField("shape"):
        return None
    return tuple(_dim(dim) for dim in kind.tensor_type.shape.dim)


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return dim.dim_param or None
