"""Fork-join graphs: stages of tasks that may all run at once, each stage waiting for the last."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_WIDTH = 12


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    last = graph.input(600_000)
    while (left := tasks - 1 - len(graph.tasks)) > 1:
        wide = min(left - 1, graph.random.randint(2, _WIDTH))
        ends = [
            graph.add("MatMul", [last], graph.service(20, 60, 1, 8), graph.bytes(1e4, 5e5))
            for _ in range(wide)
        ]
        last = graph.add("Concat", ends, graph.tiny(), graph.bytes(1e5, 2e6))
    if left == 1:
        last = graph.add("Relu", [last], graph.tiny(), graph.bytes(1e5, 2e6))
    graph.finish("Softmax", [last])
    return graph.problem(f"fork-join-{tasks}-{seed}", machine)


FAMILY = Family("stages of independent tasks", least=1, make=_make)
