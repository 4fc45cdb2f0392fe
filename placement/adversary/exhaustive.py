"""The shortest schedule of a small problem, by looking at every placement and order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from surplus.placement.evaluator import compiled
from surplus.placement.problem import Problem, Task
from surplus.placement.widths import times_at

TASKS_MOST = 8
"""Two devices and no edges: 256 placements of 40,320 orders each, half a minute."""


def best_of_all_ns(problem: Problem) -> int:
    """The shortest makespan that any devices, widths and priorities lead to in the simulator.

    Raises
    ------
    ValueError
        If there are more tasks than ``TASKS_MOST``.
    """
    if len(problem.tasks) > TASKS_MOST:
        raise ValueError(
            f"{len(problem.tasks)} tasks are too many to try all, {TASKS_MOST} is most"
        )
    return _shortest_ns(problem, list(_linear_extensions(problem)))


def best_of_placements_ns(problem: Problem) -> int:
    """The shortest makespan that any devices lead to in a few orders; an optimum is no longer."""
    tails = _tails_ns(problem)
    by_tail = sorted(range(len(problem.tasks)), key=lambda task: -tails[task])
    return _shortest_ns(problem, [list(range(len(problem.tasks))), by_tail])


def _shortest_ns(problem: Problem, orders: Sequence[Sequence[int]]) -> int:
    evaluator = compiled(problem)
    ranks = [np.argsort(np.array(order, dtype=np.int64)) for order in orders]
    able = [_places(problem, task) for task in problem.tasks]
    placements = [np.array(places, dtype=np.int64) for places in product(*able)]
    return min(
        evaluator.makespan_ns(places, rank, False) for places in placements for rank in ranks
    )


def _places(problem: Problem, task: Task) -> list[int]:
    """Where a task can run, at each of its widths."""
    times = [dict(times_at(task, device)) for device in range(len(problem.devices))]
    return [
        index
        for index, (device, width) in enumerate(problem.places)
        if (width or task.width(device)) in times[device]
    ]


def _tails_ns(problem: Problem) -> list[int]:
    """Of each task the longest path to the end, at the shortest service times."""
    tails = [0] * len(problem.tasks)
    for task in reversed(range(len(tails))):
        behind = (tails[other] for other in problem.successors[task])
        tails[task] = problem.fastest_ns(task) + max(behind, default=0)
    return tails


def _linear_extensions(problem: Problem) -> Iterator[list[int]]:
    """Every order in which each task comes after those that it waits for."""
    order: list[int] = []
    done: set[int] = set()

    def extend() -> Iterator[list[int]]:
        if len(order) == len(problem.tasks):
            yield list(order)
            return
        for task in range(len(problem.tasks)):
            if task not in done and done.issuperset(problem.predecessors[task]):
                order.append(task)
                done.add(task)
                yield from extend()
                done.remove(order.pop())

    return extend()
