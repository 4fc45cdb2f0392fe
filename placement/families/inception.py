"""Inception-like networks: blocks of branches of convolutions that a CPU does not too badly."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_WIDTH = 4
_DEPTH = 3


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    last = graph.input(600_000)
    while (left := tasks - 1 - len(graph.tasks)) > 0:
        last = _convolution(graph, last) if left == 1 else _block(graph, last, left)
    graph.finish("Softmax", [last])
    return graph.problem(f"inception-{tasks}-{seed}", machine)


def _block(graph: GraphGrower, source: int, left: int) -> int:
    """Branches and what joins them, ``left`` tasks at most and 2 at least."""
    before, ends = len(graph.tasks), []
    for _ in range(_WIDTH):
        room = left - 1 - (len(graph.tasks) - before)
        branch = source
        for _ in range(min(room, graph.random.randint(1, _DEPTH))):
            branch = _convolution(graph, branch)
        if branch != source:
            ends.append(branch)
    return graph.add("Concat", ends, graph.tiny(), graph.bytes(2e5, 2e6))


def _convolution(graph: GraphGrower, source: int) -> int:
    return graph.add("Conv", [source], graph.service(20, 200, 1.5, 12), graph.bytes(5e4, 8e5))


FAMILY = Family("blocks of parallel branches of convolutions", least=2, make=_make)
