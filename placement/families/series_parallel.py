"""Series-parallel graphs: parts one after another or side by side, each again of such parts."""

from __future__ import annotations

from surplus.placement.families.family import Family
from surplus.placement.graph_grower import GraphGrower, MachineParams
from surplus.placement.problem import Problem

_PARALLEL_LEAST = 4
"""A fork, two tasks and a join."""


def _make(tasks: int, seed: int, machine: MachineParams) -> Problem:
    graph = GraphGrower(seed)
    last = graph.input(600_000)
    if tasks > 1:
        last = _part(graph, last, tasks - 1)
    graph.finish("Softmax", [last])
    return graph.problem(f"series-parallel-{tasks}-{seed}", machine)


def _part(graph: GraphGrower, source: int, count: int) -> int:
    """``count`` tasks behind ``source``; the tensor of the last."""
    if count == 1:
        return _task(graph, "Conv", [source])
    if count >= _PARALLEL_LEAST and graph.random.random() < 0.5:
        fork = _task(graph, "Split", [source])
        ends = [_part(graph, fork, share) for share in _shares(graph, count - 2)]
        return _task(graph, "Add", ends)
    first, second = _halves(graph, count)
    return _part(graph, _part(graph, source, first), second)


def _task(graph: GraphGrower, kind: str, sources: list[int]) -> int:
    cost = graph.service(5, 200, 1, 20)
    return graph.add(kind, sources, cost, graph.bytes(1e4, 1e6))


def _shares(graph: GraphGrower, count: int) -> list[int]:
    """Two to four parts, all of them some tasks."""
    ways = min(count, graph.random.randint(2, 4))
    cuts = sorted(graph.random.sample(range(1, count), ways - 1))
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, count], strict=True)]


def _halves(graph: GraphGrower, count: int) -> tuple[int, int]:
    """Neither is below a quarter, so that parts do not lie in each other too deeply."""
    first = graph.random.randint(max(1, count // 4), max(1, 3 * count // 4))
    return first, count - first


FAMILY = Family("parts in series or side by side, recursively", least=1, make=_make)
