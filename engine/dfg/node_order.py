"""The order in which a graph lists its tasks: depth first, as joins read them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from surplus.engine.dfg.captures import reads


def depth_first(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Nodes in a topological order in which each one's inputs are made one after another.

    Branches that meet in a Concat are then neighbours in its order, whatever order the file has:
    who cuts the list in pieces keeps together what is read together. From the outputs' makers in
    order; what leads to no output follows.

    Parameters
    ----------
    graph : onnx.GraphProto
        Without cycles.
    """
    nodes = list(graph.node)
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    ends = [maker[value.name] for value in graph.output if value.name in maker]
    order: list[int] = []
    seen = [False] * len(nodes)
    for root in [*ends, *range(len(nodes))]:
        _visit(root, nodes, maker, seen, order)
    return [nodes[index] for index in order]


def _visit(
    root: int,
    nodes: Sequence[onnx.NodeProto],
    maker: dict[str, int],
    seen: list[bool],
    order: list[int],
) -> None:
    """Append ``root`` after everything that it needs; a loop, since graphs are deep."""
    if seen[root]:
        return
    seen[root] = True
    path = [(root, iter(reads(nodes[root])))]
    while path:
        index, names = path[-1]
        before = next((maker[n] for n in names if n in maker and not seen[maker[n]]), None)
        if before is None:
            order.append(index)
            path.pop()
        else:
            seen[before] = True
            path.append((before, iter(reads(nodes[before]))))
