"""Declared shapes that ONNX Runtime's reductions break where their input is empty.

Where a reduction's result is empty, its CPU kernels (seen in 1.31) give it the input's own shape:
(0, 7, 64) reduced over the last axis stays (0, 7, 64), and is neither (0, 7, 1) nor (0, 7). Within
a session nobody looks; where a segment ends, the next session would refuse what contradicts its
declared input. So extents of 1 that come from a reduction and may belong to an empty tensor are
declared as unknown, and what follows a reduction that drops its axes is declared without a rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from surplus.engine.dfg.content import GraphTask
    from surplus.engine.dfg.graph import Graph

_ARGUMENTS = ("ArgMax", "ArgMin")

_RANK_OF_THEIR_OWN = frozenset(
    {"ConstantOfShape", "Flatten", "Gemm", "NonZero", "Range", "Reshape", "Shape", "Size"}
)
"""Operators whose output has its declared rank whatever rank they are given."""


def declared_type(graph: Graph, name: str) -> onnx.TypeProto | None:
    """The type that a segment may declare of a value that it reads; None where none is known."""
    kind = graph.value_types.get(name)
    if kind is None:
        return None
    index = graph.tensor_index[name]
    if index in graph.doubtful_ranks and kind.tensor_type.HasField("shape"):
        return _without_shape(kind)
    return _without_ones(kind) if index in graph.reduced_ones else kind


def is_doubtful(graph: Graph, name: str) -> bool:
    """Whether a value may have another shape than is stated, because a reduction was empty."""
    index = graph.tensor_index[name]
    return index in graph.doubtful_ranks or index in graph.reduced_ones


def doubtful_ranks(graph: Graph) -> frozenset[int]:
    """Tensors that may have another rank than is stated, because a reduction before was empty."""
    found: set[int] = set()
    for task in graph.tasks:
        if task.op_type in _RANK_OF_THEIR_OWN:
            continue
        if not found.isdisjoint(task.inputs):
            found.update(task.outputs)
        elif _drops_axes(task):
            found.update(_possibly_empty(graph, task))
    return frozenset(found)


def reduced_ones(graph: Graph) -> frozenset[int]:
    """Tensors that may be empty and have an extent of 1 that goes back to a reduction."""
    found: set[int] = set()
    for task in graph.tasks:
        if _is_reduction(task) or not found.isdisjoint(task.inputs):
            found.update(i for i in task.outputs if _may_be_a_point(graph.tensors[i].shape))
    return frozenset(found)


def _without_shape(kind: onnx.TypeProto) -> onnx.TypeProto:
    loose = onnx.TypeProto()
    loose.CopyFrom(kind)
    loose.tensor_type.ClearField("shape")
    return loose


def _without_ones(kind: onnx.TypeProto) -> onnx.TypeProto:
    loose = onnx.TypeProto()
    loose.CopyFrom(kind)
    for dim in loose.tensor_type.shape.dim:
        if dim.dim_value == 1:
            dim.Clear()
    return loose


def _is_reduction(task: GraphTask) -> bool:
    return task.op_type.startswith("Reduce") or task.op_type in _ARGUMENTS


def _drops_axes(task: GraphTask) -> bool:
    return _is_reduction(task) and any(
        a.name == "keepdims" and a.i == 0 for a in task.node.attribute
    )


def _possibly_empty(graph: Graph, task: GraphTask) -> Iterator[int]:
    """Outputs with an open extent; where none is left, the result has the right shape."""
    for index in task.outputs:
        shape = graph.tensors[index].shape
        if shape is None or not all(isinstance(extent, int) and extent for extent in shape):
            yield index


def _may_be_a_point(shape: tuple[object, ...] | None) -> bool:
    """Whether some extent is 1 and another one open."""
    return shape is not None and 1 in shape and not all(isinstance(d, int) for d in shape)
