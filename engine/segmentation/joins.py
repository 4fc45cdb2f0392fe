"""Finds Concats whose inputs segments can join in part (engine/dfg/partial_join.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from surplus.engine.dfg.graph import Graph, ValueKind
from surplus.engine.dfg.join import PartialJoin
from surplus.engine.segmentation.groups import GroupGraph

FEWEST_TENSORS = 4
"""Fewer are not worth a node."""

LARGEST_TENSOR_BYTES = 16 << 10
"""Larger ones cost more to move twice than to take over (0.2 µs a tensor, 0.1 ns a byte)."""


def partial_joins(graph: Graph, groups: GroupGraph) -> list[list[PartialJoin]]:
    """Runs of neighbouring inputs of a Concat that one other group of the same memory makes.

    Returns
    -------
    list of list of PartialJoin
        Of each group, those that it makes or reads.
    """
    group_of = {task: i for i, group in enumerate(groups.groups) for task in group.tasks}
    small = {
        tensor.name
        for tensor in groups.problem.tensors
        if tensor.size_bytes <= LARGEST_TENSOR_BYTES
    }
    memory_of = [groups.problem.devices[group.device].memory for group in groups.groups]
    found: list[list[PartialJoin]] = [[] for _ in groups.groups]
    for index, task in enumerate(graph.tasks):
        if task.op_type != "Concat" or len(task.node.input) <= FEWEST_TENSORS:
            continue
        reader = group_of[index]
        for maker, run in _runs(graph, index, group_of, small):
            if len(run) < FEWEST_TENSORS or memory_of[maker] != memory_of[reader]:
                continue
            join = PartialJoin(f"{run[0]} to {run[-1]}", index, tuple(run))
            if join.name not in graph.tensor_index:
                found[maker].append(join)
                found[reader].append(join)
    return found


def _runs(
    graph: Graph, task: int, group_of: Mapping[int, int], small: set[str]
) -> list[tuple[int, list[str]]]:
    """Maximal runs of inputs that may be joined, with the group that makes each."""
    times = Counter(graph.tasks[task].node.input)
    runs: list[tuple[int, list[str]]] = []
    before = -1
    for name in graph.tasks[task].node.input:
        maker = _maker(graph, task, name, group_of) if name in small else -1
        if maker >= 0 and times[name] == 1:
            if maker != before:
                runs.append((maker, []))
            runs[-1][1].append(name)
        else:
            maker = -1
        before = maker
    return runs


def _maker(graph: Graph, task: int, name: str, group_of: Mapping[int, int]) -> int:
    """The other group that makes a tensor for this task alone, or -1."""
    index = graph.tensor_index.get(name)
    if index is None:
        return -1
    tensor = graph.tensors[index]
    alone = tensor.consumers == (task,) and not tensor.is_output
    typed = tensor.kind is ValueKind.TENSOR and tensor.elem_type != 0
    if tensor.producer < 0 or not alone or not typed:
        return -1
    maker = group_of[tensor.producer]
    return -1 if maker == group_of[task] else maker
