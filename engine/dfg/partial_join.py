"""Part of a Concat, done where its inputs are made.

A Concat of many small tensors is itself work that one lane does while the others wait: it has to
take over every tensor and reads them from another core's caches. Concat is associative, so a
segment that makes several neighbouring inputs may join these, and the Concat then reads one
tensor for each segment. The values are the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx

from surplus.engine.dfg.empty_reductions import is_doubtful
from surplus.engine.dfg.graph import Dim, Graph
from surplus.engine.dfg.join import PartialJoin


def joining_node(graph: Graph, join: PartialJoin) -> onnx.NodeProto:
    """The node that makes a partial join."""
    return onnx.helper.make_node(
        "Concat", list(join.tensors), [join.name], name=join.name, axis=_axis(graph, join.task)
    )


def joined_names(names: Iterable[str], joins: Iterable[PartialJoin]) -> list[str]:
    """Names of values, each partial join in place of the first tensor that it stands for."""
    stands_for = {tensor: join.name for join in joins for tensor in join.tensors}
    replaced: list[str] = []
    placed: set[str] = set()
    for name in names:
        join = stands_for.get(name)
        if join is None:
            replaced.append(name)
        elif join not in placed:
            replaced.append(join)
            placed.add(join)
    return replaced


def joined_type(graph: Graph, join: PartialJoin) -> onnx.TypeProto:
    """Element type and, as far as it is known, shape of a partial join."""
    tensors = [graph.tensors[graph.tensor_index[name]] for name in join.tensors]
    known = not any(is_doubtful(graph, name) for name in join.tensors)
    shapes = [tensor.shape for tensor in tensors if known and tensor.shape is not None]
    shape = None if len(shapes) < len(tensors) else _joined_shape(shapes, _axis(graph, join.task))
    return onnx.helper.make_tensor_type_proto(tensors[0].elem_type, shape)


def _joined_shape(shapes: Sequence[tuple[Dim, ...]], axis: int) -> list[Dim] | None:
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes) or not -rank <= axis < rank:
        return None
    joined: list[Dim] = [
        next((d for d in row if isinstance(d, int)), None) for row in zip(*shapes, strict=True)
    ]
    along = [shape[axis] for shape in shapes]
    fixed = [size for size in along if isinstance(size, int)]
    joined[axis] = sum(fixed) if len(fixed) == len(along) else None
    return joined


def _axis(graph: Graph, task: int) -> int:
    attributes = graph.tasks[task].node.attribute
    return next(int(attribute.i) for attribute in attributes if attribute.name == "axis")
