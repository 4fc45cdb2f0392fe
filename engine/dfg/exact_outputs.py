"""Outputs that ONNX Runtime would quantise for the sake of those who read them besides.

Before a Transpose whose result is quantised, its TransposeOptimizer (seen in 1.32, from level
*basic* on) puts the same quantisation and its inverse, where the value between has one reader. That
the value is delivered, too, it overlooks: what is delivered are then 256 steps. Where a graph is
cut, such outputs come up which the whole graph does not have. So an output that is read within is
delivered by an Identity of its own: the value between has two readers then.
"""

from __future__ import annotations

import onnx

_QUANTISERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})
_SUFFIX = "/read"


def deliver_apart(graph: onnx.GraphProto) -> bool:
    """Part what a graph with quantisers delivers from what it reads itself, in place.

    Bodies of control flow, across whose border nothing is moved, go on reading what is delivered.

    Returns
    -------
    bool
        Whether anything was changed.
    """
    if not any(node.op_type in _QUANTISERS for node in graph.node):
        return False
    made = {name for node in graph.node for name in node.output}
    read = {name for node in graph.node for name in node.input}
    both = [v.name for v in graph.output if v.name in made and v.name in read]
    inner = {name: _new(name, made | read) for name in both}
    for node in graph.node:
        node.input[:] = [inner.get(name, name) for name in node.input]
        node.output[:] = [inner.get(name, name) for name in node.output]
    graph.node.extend(onnx.helper.make_node("Identity", [new], [old]) for old, new in inner.items())
    return bool(inner)


def _new(name: str, used: set[str]) -> str:
    found = f"{name}{_SUFFIX}"
    while found in used:
        found += _SUFFIX
    return found
