"""Cuts a problem in series: tasks that everything else comes before or after.

When such a task runs, nothing else does, and no data passes it by. So the best schedule is a
best schedule of each block between two of them, for the devices on which the two run, and the
blocks meet in a shortest path over devices. This is exact, queueing copies included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from surplus.milp.windows import ancestors, descendants
from surplus.placement.memory import binding_capacities
from surplus.placement.problem import Problem, Task, Tensor


@dataclass(frozen=True)
class SeriesBlock:
    """The tasks between two cuts.

    Parameters
    ----------
    tasks : tuple of int
        Indices in the whole problem, ascending, both cuts included.
    first, last : int or None
        The cuts; None at the beginning and at the end of the problem.
    """

    tasks: tuple[int, ...]
    first: int | None
    last: int | None


def series_blocks(problem: Problem) -> list[SeriesBlock]:
    """Blocks in the order in which they run; one if there is no cut or memory binds them."""
    cuts: list[int | None] = []
    if not binding_capacities(problem):
        cuts = list(_cuts(problem))
    before = ancestors(problem)
    blocks = []
    for first, last in zip([None, *cuts], [*cuts, None], strict=True):
        inside = (
            task
            for task in range(len(problem.tasks))
            if (first is None or task == first or first in before[task])
            and (last is None or task == last or task in before[last])
        )
        blocks.append(SeriesBlock(tuple(inside), first, last))
    return blocks


def block_problem(
    problem: Problem, block: SeriesBlock, first_device: int | None, last_device: int | None
) -> Problem:
    """A block as a problem of its own, from the end of its first cut to the end of its last.

    Parameters
    ----------
    first_device, last_device : int or None
        Where the cuts run; None where the block has none.
    """
    number = {task: index for index, task in enumerate(block.tasks)}
    tasks = []
    for index in block.tasks:
        task = problem.tasks[index]
        if index == block.first and first_device is not None:
            task = _pinned(task, first_device, 0)
        if index == block.last and last_device is not None:
            task = _pinned(task, last_device, task.service_ns[last_device])
        tasks.append(task)
    tensors = tuple(_tensors(problem, block, number))
    return replace(problem, tasks=tuple(tasks), tensors=tensors)


def _cuts(problem: Problem) -> Iterator[int]:
    before, after = ancestors(problem), descendants(problem)
    count = len(problem.tasks)
    for task in range(count):
        if len(before[task]) + len(after[task]) == count - 1 and not any(
            _passes_by(tensor, task, after[task]) for tensor in problem.tensors
        ):
            yield task


def _passes_by(tensor: Tensor, cut: int, after: frozenset[int]) -> bool:
    """Whether a copy of the tensor may still be needed or under way after the cut."""
    if tensor.size_bytes == 0 or tensor.producer == cut or tensor.producer in after:
        return False
    return tensor.is_output or not after.isdisjoint(tensor.consumers)


def _tensors(problem: Problem, block: SeriesBlock, number: dict[int, int]) -> Iterator[Tensor]:
    for tensor in problem.tensors:
        made_here = tensor.producer in number and tensor.producer != block.last
        given = tensor.producer < 0
        consumers = tuple(number[task] for task in tensor.consumers if task in number)
        if given and block.first is not None:
            consumers = ()
        if made_here or (given and consumers):
            producer = number[tensor.producer] if made_here else -1
            yield replace(tensor, producer=producer, consumers=consumers)


def _pinned(task: Task, device: int, service_ns: int | None) -> Task:
    times = tuple(service_ns if d == device else None for d in range(len(task.service_ns)))
    return replace(task, service_ns=times, default_device=device)
