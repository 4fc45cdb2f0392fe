"""Declared extents that ONNX Runtime's reductions break where their input is empty.

Its CPU kernels (seen in 1.31) answer an empty input of (0, 7, 64) with the input's own shape and
not with (0, 7, 1). Within a session nobody looks; where a segment ends, the next session would
refuse what contradicts its declared input. So extents of 1 that come from a reduction and may
belong to an empty tensor are declared as unknown.
"""

from __future__ import annotations

import onnx

from engine.dfg.graph import Graph

_ARGUMENTS = ("ArgMax", "ArgMin")


def declared_type(graph: Graph, name: str) -> onnx.TypeProto | None:
    """The type that a segment may declare of a value that it reads; None where none is known."""
    kind = graph.value_types.get(name)
    if kind is None or not _is_reduced(graph, graph.tensor_index[name]):
        return kind
    loose = onnx.TypeProto()
    loose.CopyFrom(kind)
    for dim in loose.tensor_type.shape.dim:
        if dim.dim_value == 1:
            dim.Clear()
    return loose


def _is_reduced(graph: Graph, index: int) -> bool:
    """Whether a value may be empty and has an extent of 1 that goes back to a reduction."""
    seen: set[int] = set()
    waiting = [index]
    while waiting:
        index = waiting.pop()
        tensor = graph.tensors[index]
        if index in seen or tensor.producer < 0 or not _may_be_a_point(tensor.shape):
            continue
        seen.add(index)
        task = graph.tasks[tensor.producer]
        if task.op_type.startswith("Reduce") or task.op_type in _ARGUMENTS:
            return True
        waiting += task.inputs
    return False


def _may_be_a_point(shape: tuple[object, ...] | None) -> bool:
    """Whether some extent is 1 and another one open."""
    return shape is not None and 1 in shape and not all(isinstance(d, int) for d in shape)
