"""Cuts a problem in series: tasks that everything else comes before or after.

When such a task runs, nothing else does, and no data passes it by. So the best schedule is a
best schedule of each block between two of them, for the devices on which the two run, and the
blocks meet in a shortest path over devices. This is exact, queueing copies included.

Tasks are in a topological order, so what comes before a cut has smaller indices and a block is a
range of them: finding all takes one pass over tasks and tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

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
    count = len(problem.tasks)
    return [
        SeriesBlock(tuple(range(first or 0, count if last is None else last + 1)), first, last)
        for first, last in zip([None, *cuts], [*cuts, None], strict=True)
    ]


def block_problem(
    problem: Problem,
    block: SeriesBlock,
    first_devices: Collection[int],
    last_devices: Collection[int],
) -> Problem:
    """A block as a problem of its own, from the end of its first cut to the end of its last.

    Parameters
    ----------
    first_devices, last_devices : collection of int
        Where the cuts may run; of no meaning where the block has none.
    """
    number = {task: index for index, task in enumerate(block.tasks)}
    tasks = [problem.tasks[index] for index in block.tasks]
    if block.last is not None:
        tasks[-1] = _kept_to(tasks[-1], last_devices)
    if block.first is not None:
        tasks[0] = _done(_kept_to(tasks[0], first_devices))
    tensors = tuple(_tensors(problem, block, number))
    return replace(problem, tasks=tuple(tasks), tensors=tensors)


def _cuts(problem: Problem) -> Iterator[int]:
    count = len(problem.tasks)
    # If each task before a cut has a successor that is the cut or before it, all lead to the cut.
    nearest = [min(after, default=count) for after in problem.successors]
    farthest = [max(before, default=-1) for before in problem.predecessors]
    led = [-1, *accumulate(nearest, max)]
    follows = [*reversed([*accumulate(reversed(farthest), min)]), count]
    passed = passed_by(problem)
    for task in range(count):
        if led[task] <= task <= follows[task + 1] and not passed[task]:
            yield task


def passed_by(problem: Problem) -> list[int]:
    """How many tensors' copies may still be needed or under way after each task ran, if a cut."""
    steps = [0] * (len(problem.tasks) + 1)
    for tensor in problem.tensors:
        last = len(problem.tasks) if tensor.is_output else max(tensor.consumers, default=-1)
        if tensor.size_bytes and last > tensor.producer + 1:
            steps[tensor.producer + 1] += 1
            steps[last] -= 1
    return list(accumulate(steps))


def _tensors(problem: Problem, block: SeriesBlock, number: dict[int, int]) -> Iterator[Tensor]:
    given = []
    if block.first is None:
        given = [i for i, tensor in enumerate(problem.tensors) if tensor.producer < 0]
    made = (i for task in block.tasks if task != block.last for i in problem.outputs_of[task])
    for index in sorted([*given, *made]):
        tensor = problem.tensors[index]
        consumers = tuple(number[task] for task in tensor.consumers if task in number)
        if tensor.producer >= 0 or consumers:
            producer = number[tensor.producer] if tensor.producer >= 0 else -1
            yield replace(tensor, producer=producer, consumers=consumers)


def _kept_to(task: Task, devices: Collection[int]) -> Task:
    times = tuple(time_ns if d in devices else None for d, time_ns in enumerate(task.service_ns))
    return replace(task, service_ns=times, default_device=min(devices))


def _done(task: Task) -> Task:
    times = tuple(None if time_ns is None else 0 for time_ns in task.service_ns)
    return replace(task, service_ns=times, wider_ns=(), launch_ns=())
