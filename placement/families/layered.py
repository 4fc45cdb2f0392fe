"""Layered graphs: each task reads one to three of the layer before; as wide as they are deep."""

from __future__ import annotations

from math import isqrt

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_READS = 3


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    layer, width = [graph.input(600_000)], max(1, isqrt(tasks))
    unread = set(layer)
    while (left := tasks - 1 - len(graph.tasks)) > 0:
        wide = min(left, graph.random.randint(max(1, width // 2), width + width // 2))
        reads = [_reads(graph, layer) for _ in range(wide)]
        layer = [_task(graph, row) for row in reads]
        unread = unread.difference(*reads).union(layer)
    graph.finish("Concat", sorted(unread))
    return graph.problem(f"layered-{tasks}-{seed}", machine)


def _reads(graph: GraphGrower, layer: list[int]) -> list[int]:
    return sorted(graph.random.sample(layer, min(len(layer), graph.random.randint(1, _READS))))


def _task(graph: GraphGrower, reads: list[int]) -> int:
    return graph.add("MatMul", reads, graph.service(5, 200, 0.8, 20), graph.bytes(1e4, 2e6))


FAMILY = Family("layers, each task reading some of the one before", least=1, make=_make)
