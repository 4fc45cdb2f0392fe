"""What the bodies of control-flow nodes read from outside."""

from __future__ import annotations

from collections.abc import Iterator

import onnx


def sub_graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The bodies of a control-flow node; none for any other node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def captures(node: onnx.NodeProto) -> list[str]:
    """Outer names that the node's bodies read, distinct, in order of appearance."""
    return list(dict.fromkeys(name for body in sub_graphs(node) for name in _free(body)))


def reads(node: onnx.NodeProto) -> list[str]:
    """Every name that a node reads: inputs, then captures, distinct; omitted ones left out."""
    return list(dict.fromkeys([*filter(None, node.input), *captures(node)]))


def all_nodes(nodes: Iterator[onnx.NodeProto] | list[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and, below each, those of its bodies."""
    for node in nodes:
        yield node
        for body in sub_graphs(node):
            yield from all_nodes(list(body.node))


def _free(graph: onnx.GraphProto) -> Iterator[str]:
    own = {value.name for value in graph.input}
    own.update(tensor.name for tensor in graph.initializer)
    own.update(tensor.values.name for tensor in graph.sparse_initializer)
    own.update(name for node in graph.node for name in node.output)
    for node in graph.node:
        yield from (name for name in reads(node) if name not in own)
    yield from (value.name for value in graph.output if value.name not in own)
