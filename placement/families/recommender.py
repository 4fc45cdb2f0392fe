"""Recommenders: lookups in tables of up to a gigabyte, between a small and a large perceptron."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_BOTTOM = 3
_LEAST = _BOTTOM + 4


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    ids, last = graph.input(40_000), graph.input(4_000)
    top = max(1, (tasks - _BOTTOM - 2) // 5)
    features = [
        graph.add(
            "Gather", [ids], graph.service(5, 15, 0.3, 1.2), graph.bytes(1e3, 1e5),
            graph.bytes(1e7, 1e9),
        )
        for _ in range(tasks - _BOTTOM - 2 - top)
    ]  # fmt: skip
    for _ in range(_BOTTOM):
        last = _layer(graph, last, 5, 30)
    last = graph.add("Interaction", [*features, last], graph.tiny(), graph.bytes(1e4, 1e6))
    for _ in range(top):
        last = _layer(graph, last, 20, 150)
    graph.finish("Sigmoid", [last])
    return graph.problem(f"recommender-{tasks}-{seed}", machine)


def _layer(graph: GraphGrower, source: int, least_us: float, most_us: float) -> int:
    cost = graph.service(least_us, most_us, 2, 20)
    return graph.add("Gemm", [source], cost, graph.bytes(1e4, 1e6), graph.bytes(1e5, 1e7))


FAMILY = Family("lookups in large tables, then a perceptron", least=_LEAST, make=_make)
