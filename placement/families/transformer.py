"""Transformers: blocks of attention, whose heads may run at once, and of a perceptron."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_HEADS = 4
_OF_A_HEAD = 4
_BLOCK = 10 + _OF_A_HEAD * _HEADS


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    last = graph.add("Gather", [graph.input(4_000)], graph.tiny(), graph.bytes(1e5, 1e6))
    blocks, left = divmod(tasks - 2, _BLOCK)
    for _ in range(blocks):
        last = _block(graph, last)
    for _ in range(left):
        last = _product(graph, [last])
    graph.finish("Softmax", [last])
    return graph.problem(f"transformer-{tasks}-{seed}", machine)


def _block(graph: GraphGrower, source: int) -> int:
    normal = _cheap(graph, "LayerNormalization", [source])
    query, key, value = (_product(graph, [normal]) for _ in range(3))
    heads = []
    for _ in range(_HEADS):
        scores = _product(graph, [query, key], weights=False)
        head = _product(graph, [_cheap(graph, "Softmax", [scores]), value], weights=False)
        heads.append(_cheap(graph, "Transpose", [head]))
    attended = _cheap(graph, "Add", [_product(graph, heads), source])
    normal = _cheap(graph, "LayerNormalization", [attended])
    hidden = _product(graph, [_product(graph, [normal])])
    return _cheap(graph, "Add", [hidden, attended])


def _product(graph: GraphGrower, sources: list[int], weights: bool = True) -> int:
    held = graph.bytes(1e6, 2e7) if weights else 0
    cost = graph.service(15, 150, 8, 40)
    return graph.add("MatMul", sources, cost, graph.bytes(1e5, 2e6), held)


def _cheap(graph: GraphGrower, kind: str, sources: list[int]) -> int:
    return graph.add(kind, sources, graph.service(5, 20, 1, 6), graph.bytes(1e5, 2e6))


FAMILY = Family("blocks of attention heads and perceptrons", least=2, make=_make)
