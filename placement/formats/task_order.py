"""Tasks of a file in an order in which each comes after those that it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from surplus.placement.field_checks import ProblemError
from surplus.placement.problem import Task, Tensor


def in_order(
    tasks: Sequence[Task], tensors: Iterable[Tensor]
) -> tuple[tuple[Task, ...], tuple[Tensor, ...]]:
    """Tasks and tensors as a problem wants them: the file's own order where that will do.

    Parameters
    ----------
    tensors : iterable of Tensor
        Producers and consumers by place in ``tasks``, consumers in any order.

    Raises
    ------
    ProblemError
        Naming a task that waits for itself, and those in between.
    """
    edges = list(tensors)
    order = _order(tasks, edges)
    place = {task: index for index, task in enumerate(order)} | {-1: -1}
    return tuple(tasks[task] for task in order), tuple(
        replace(
            tensor,
            producer=place[tensor.producer],
            consumers=tuple(sorted(place[task] for task in tensor.consumers)),
        )
        for tensor in edges
    )


def _order(tasks: Sequence[Task], tensors: Sequence[Tensor]) -> list[int]:
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(tasks)), ()))
    for tensor in tensors:
        if tensor.producer >= 0:
            for task in tensor.consumers:
                sorter.add(task, tensor.producer)
    try:
        sorter.prepare()
    except CycleError as error:
        names = " -> ".join(repr(tasks[task].name) for task in error.args[1])
        raise ProblemError(
            f"task {tasks[error.args[1][0]].name!r} waits for itself: {names}"
        ) from None
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for task in sorter.get_ready():
            heappush(ready, task)
        order.append(heappop(ready))
        sorter.done(order[-1])
    return order
