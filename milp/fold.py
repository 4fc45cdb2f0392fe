"""Folds away what hangs beside a graph, so that more of its tasks are cuts in series.

Detectors compute shapes on branches that leave the main chain and come back much later, or never:
a handful of tasks of no weight, beside which nothing is comparable with everything else. Whatever
is taken from a problem, each of its schedules stays one of what is left, as long as that keeps no
more orders than before. So bounds of the folded problem are bounds of the whole; they lose at
most what was taken. Plans of the folded problem become plans of the whole by dispatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from surplus.milp.closure import Bits, ancestors, descendants, matrix, members
from surplus.milp.series import passed_by, series_blocks
from surplus.placement.memory import binding_capacities
from surplus.placement.problem import Problem, Tensor

BUDGET = 0.005
"""What may be taken, as a share of the bound: a loss of less than the gaps of large graphs."""

TASKS_MAX = 4_000
"""Above this the comparisons of all with all are left out."""

_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Folded:
    """A problem without some tasks and copies.

    Parameters
    ----------
    problem : Problem
        What is left.
    tasks : tuple of int
        Which tasks of the whole those are, ascending.
    """

    problem: Problem
    tasks: tuple[int, ...]


def fold(problem: Problem, bound_ns: int) -> Folded | None:
    """Take what keeps tasks from being cuts, the lightest first; None if nothing is gained.

    Parameters
    ----------
    bound_ns : int
        A lower bound, of which ``BUDGET`` may be taken.
    """
    count = len(problem.tasks)
    if binding_capacities(problem) or not 2 < count <= TASKS_MAX:
        return None
    taken = _taken(problem, int(BUDGET * bound_ns))
    if taken is None:
        return None
    folded = _without(problem, *taken)
    largest = max(len(block.tasks) for block in series_blocks(folded.problem))
    before = max(len(block.tasks) for block in series_blocks(problem))
    return folded if largest < before - taken[0].bit_count() else None


def _taken(problem: Problem, budget_ns: int) -> tuple[Bits, set[int]] | None:
    """Tasks and tensors that stand in the way of cuts and together cost no more than a budget."""
    before, after = ancestors(problem), descendants(problem)
    count = len(problem.tasks)
    everything = (1 << count) - 1
    least_ns = np.array([problem.fastest_ns(task) for task in range(count)], np.float64)
    related = enumerate(zip(before, after, strict=True))
    beside = [everything & ~(b | a | 1 << i) for i, (b, a) in related]
    weights = [
        float(weight)
        for first in range(0, count, _ROWS_AT_ONCE)
        for weight in matrix(beside[first : first + _ROWS_AT_ONCE], count).astype(float) @ least_ns
    ]
    passed = passed_by(problem)
    tasks: Bits = 0
    tensors: set[int] = set()
    spent_ns = 0.0
    for cut in sorted(range(count), key=lambda task: (weights[task], task)):
        if weights[cut] > budget_ns:
            break
        if tasks >> cut & 1:
            continue
        passing = set(_passing(problem, cut)) - tensors if passed[cut] else set()
        more = beside[cut] & ~tasks
        cost_ns = sum(least_ns[i] for i in members(more))
        cost_ns += sum(_copy_ns(problem, i) for i in passing)
        if spent_ns + cost_ns <= budget_ns:
            tasks, tensors = tasks | more, tensors | passing
            spent_ns += cost_ns
    return (tasks, tensors) if tasks or tensors else None


def _passing(problem: Problem, cut: int) -> Iterator[int]:
    """Tensors whose copies may be under way when the cut runs, if it is one."""
    for index, tensor in enumerate(problem.tensors):
        last = len(problem.tasks) if tensor.is_output else max(tensor.consumers, default=-1)
        if tensor.size_bytes and tensor.producer < cut < last:
            yield index


def _copy_ns(problem: Problem, tensor: int) -> int:
    size_bytes = problem.tensors[tensor].size_bytes
    return max((link.copy_ns(size_bytes) for link in problem.links), default=0)


def _without(problem: Problem, taken: Bits, uncopied: Iterable[int]) -> Folded:
    """What is left; orders that tasks kept for others stay, as tensors without bytes."""
    kept = tuple(i for i in range(len(problem.tasks)) if not taken >> i & 1)
    number = {task: index for index, task in enumerate(kept)}
    light = set(uncopied)
    tensors = [
        replace(
            tensor,
            producer=number.get(tensor.producer, -1),
            consumers=tuple(number[task] for task in tensor.consumers if task in number),
            size_bytes=0 if index in light else tensor.size_bytes,
            is_output=tensor.is_output and index not in light,
        )
        for index, tensor in enumerate(problem.tensors)
        if tensor.producer < 0 or tensor.producer in number
    ]
    # Longer than any name that is taken.
    longest = max((tensor.name for tensor in problem.tensors), key=len, default="")
    orders = [
        Tensor(f"{longest}>{a}>{b}", number[a], (number[b],), 0) for a, b in _orders(problem, taken)
    ]
    tasks = tuple(problem.tasks[task] for task in kept)
    return Folded(replace(problem, tasks=tasks, tensors=(*tensors, *orders)), kept)


def _orders(problem: Problem, taken: Bits) -> Iterator[tuple[int, int]]:
    """Pairs of kept tasks, of which one leads to the other through taken ones."""
    heirs: dict[int, set[int]] = {}
    for task in sorted(members(taken), reverse=True):
        heirs[task] = set()
        for after in problem.successors[task]:
            heirs[task] |= heirs.get(after, {after})
    for task in range(len(problem.tasks)):
        if task not in heirs:
            through = [heirs[after] for after in problem.successors[task] if after in heirs]
            yield from ((task, b) for b in sorted(set().union(*through)))
