"""Priorities by any key in which no task is before what it reads from."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from surplus.placement.problem import Problem


def topological_ranks(problem: Problem, key: Callable[[int], Any]) -> tuple[int, ...]:
    """Rank of each task: of those whose makers all have one, the one of the least key is next.

    Parameters
    ----------
    key : callable
        Of a task, asked once; ties go to the lower index.
    """
    waiting = [len(before) for before in problem.predecessors]
    ready = [(key(task), task) for task, count in enumerate(waiting) if count == 0]
    heapify(ready)
    ranks = [0] * len(waiting)
    for rank in range(len(waiting)):
        task = heappop(ready)[1]
        ranks[task] = rank
        for after in problem.successors[task]:
            waiting[after] -= 1
            if waiting[after] == 0:
                heappush(ready, (key(after), after))
    return tuple(ranks)
