"""Traps for those who look no further than the next task.

A lure runs a little faster on the CPU and makes megabytes, which the long task behind it needs on
the GPU: who finishes the lure first has to copy them, or stays where that task takes fifty times as
long. A crowd are tasks that each gain less by moving than any threshold asks for, and all together
half of the time. Lures and crowds hang at a chain of tasks in turn.
"""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_LURE = 2
_CROWD = 6


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    spine = graph.input(4_000)
    ends = []
    while (left := tasks - 1 - len(graph.tasks)) > 0:
        if left > _LURE and graph.random.random() < 0.5:
            ends.append(_lure(graph, spine))
        elif left > _CROWD:
            ends.extend(_crowd(graph, spine))
        spine = graph.add("Relu", [spine], graph.tiny(), graph.bytes(1e2, 1e4))
    graph.finish("Concat", [*ends, spine])
    return graph.problem(f"adversarial-{tasks}-{seed}", machine)


def _lure(graph: GraphGrower, source: int) -> int:
    cost = graph.service(8, 12, 0.8, 0.95)
    large = graph.add("Cast", [source], cost, graph.bytes(2e6, 2e7))
    return graph.add("Conv", [large], graph.service(20, 60, 30, 60), graph.bytes(1e3, 1e5))


def _crowd(graph: GraphGrower, source: int) -> list[int]:
    return [
        graph.add("Gather", [source], graph.service(8, 12, 0.8, 1.25), graph.bytes(1e2, 1e3))
        for _ in range(_CROWD)
    ]


FAMILY = Family("traps for short-sighted policies", least=1, make=_make)
