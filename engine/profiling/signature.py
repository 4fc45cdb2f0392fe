"""Operator signatures: what decides the service time of a task, names aside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import onnx

from surplus.engine.dfg.captures import reads
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph


@dataclass(frozen=True)
class Observed:
    """A value as the calibration run saw it.

    Parameters
    ----------
    elem_type : int
        ``onnx.TensorProto.DataType``; 0 for what is no tensor.
    shape : tuple of int or None
        None for what is no tensor.
    size_bytes : int
        What a copy would move; 0 for what is no tensor.
    content : str
        The element of an integer or boolean scalar (trip counts, conditions), else empty.
    """

    elem_type: int
    shape: tuple[int, ...] | None
    size_bytes: int
    content: str = ""


def signature(graph: Graph, task: GraphTask, seen: Mapping[str, Observed]) -> str:
    """Digest of operator, attributes, opset, and of every value's type and shape.

    Output shapes take part: they stand for the data that data-dependent operators saw. Which
    inputs are constants matters since the runtime packs these once; a control-flow node is its
    whole body and the scalars that it reads.
    """
    node = task.node
    given = set(node.input)
    names = list(node.input) + [n for n in reads(node) if n not in given]
    held = set(task.initializers)
    scalars = task.is_control_flow
    places: dict[str, int] = {}
    inputs = []
    for name in names:
        place = places.setdefault(name, len(places))
        constant = _constant(graph, name) if name in held else None
        inputs.append((place, constant or _value(name, seen, scalars=scalars)))
    outputs = [_value(name, seen, scalars=scalars) for name in node.output]
    parts = (node.op_type, node.domain, _opset(graph, node), _attributes(node), inputs, outputs)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _constant(graph: Graph, name: str) -> object:
    dense = graph.initializers.get(name)
    if dense is not None:
        return ("constant", dense.data_type, tuple(dense.dims))
    sparse = graph.sparse_initializers[name]
    return ("sparse", sparse.values.data_type, tuple(sparse.dims))


def _value(name: str, seen: Mapping[str, Observed], *, scalars: bool) -> object:
    if not name:
        return None
    value = seen.get(name)
    if value is None:
        return "absent"
    return (value.elem_type, value.shape, value.content if scalars else "")


def _opset(graph: Graph, node: onnx.NodeProto) -> int:
    standard = ("", "ai.onnx")
    for imported in graph.model.opset_import:
        if imported.domain == node.domain or {imported.domain, node.domain} == set(standard):
            return int(imported.version)
    return 0


def _attributes(node: onnx.NodeProto) -> str:
    digest = hashlib.sha256()
    for attribute in sorted(node.attribute, key=lambda a: a.name):
        digest.update(attribute.SerializeToString(deterministic=True))
    return digest.hexdigest()
