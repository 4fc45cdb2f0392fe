"""What a placement comes to, by the native evaluator: as ``simulate`` says, without a timeline.

Policies ask it for each plan that they consider. A problem is handed over when it is first asked
about (which takes about as long as a simulation in Python), and forgotten with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.placement._evaluator import Evaluator
from surplus.placement.per_problem import PerProblem
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, Task
from surplus.placement.simulator import SimulatorParams
from surplus.placement.waits import Waits
from surplus.placement.widths import Place, Row, is_moldable, times_at

Numbers = NDArray[np.int64]

TaskRow = tuple[str, Row, tuple[int, ...], tuple[int, ...]]
"""Name, service times, widths and launches."""


@dataclass(frozen=True)
class Schedule:
    """When everything of one query happens, in nanoseconds from its start.

    Parameters
    ----------
    ready_ns, start_ns, end_ns : array of int64, shape (tasks,)
        When a task's inputs were there, when it began, when it was done.
    copies : array of int64, shape (copies, 5)
        Tensor, link, ready, start and end of each, in the order in which they were started.
    """

    ready_ns: Numbers
    start_ns: Numbers
    end_ns: Numbers
    copies: Numbers


def makespan_ns(
    problem: Problem, placement: Placement, params: SimulatorParams | None = None
) -> int:
    """``simulate(problem, placement, params).makespan_ns``.

    Raises
    ------
    ValueError
        If the placement does not fit the problem, or a time is 2^62 ns or more.
    """
    plan, holds = arrays(problem, placement), held_rows(problem, placement)
    return compiled(problem).makespan_ns(*plan, _is_fifo(params), holds)


def schedule(
    problem: Problem, placement: Placement, params: SimulatorParams | None = None
) -> Schedule:
    """The times of ``simulate(problem, placement, params)``; errors as ``makespan_ns``."""
    plan, holds = arrays(problem, placement), held_rows(problem, placement)
    return Schedule(*compiled(problem).schedule(*plan, _is_fifo(params), holds))


def unchecked_schedule(problem: Problem, placement: Placement) -> Schedule:
    """``schedule`` where the holds are known to be such as can be kept: looking takes longer."""
    plan, holds = arrays(problem, placement), _rows(problem, placement)
    return Schedule(*compiled(problem).schedule(*plan, False, holds))


def compiled(problem: Problem) -> Evaluator:
    """The evaluator of a problem: who has arrays of places and priorities asks it directly.

    A place is an index into ``Problem.places``; the first ones are the devices.
    """
    return _compiled(problem)


def memory_indices(problem: Problem) -> dict[str, int]:
    """The evaluator's number of each memory, ascending."""
    spaces = [device.memory for device in problem.devices]
    spaces += [space for link in problem.links for space in (link.source, link.target)]
    return {space: index for index, space in enumerate(dict.fromkeys(spaces))}


def _compile(problem: Problem) -> Evaluator:
    return compile_with(problem, problem.tasks)


_compiled = PerProblem(_compile)


def compile_with(problem: Problem, tasks: Sequence[Task]) -> Evaluator:
    """The evaluator of the same problem with other service times."""
    memory = memory_indices(problem)
    wide = problem.places[len(problem.devices) :]
    return Evaluator(
        [(d.name, d.lanes, memory[d.memory], d.submit_ns, d.slowdown) for d in problem.devices],
        [
            (
                memory[link.source],
                memory[link.target],
                link.latency_ns,
                link.bytes_per_s,
                link.occupancy_ns,
                link.staging_bytes,
                link.pageable,
            )
            for link in problem.links
        ],
        [_task_row(task, wide) for task in tasks],
        [(t.producer, t.consumers, t.size_bytes, t.is_output) for t in problem.tensors],
        [device for device, _ in wide],
    )


def _task_row(task: Task, wide: Sequence[Place]) -> TaskRow:
    """Its numbers for each place."""
    if not wide:
        return task.name, task.service_ns, task.widths, task.launch_ns
    wider = [dict(times_at(task, d)[1:]) for d in range(len(task.service_ns))]
    return (
        task.name,
        (*task.service_ns, *(wider[device].get(width) for device, width in wide)),
        (*map(task.width, range(len(wider))), *(width for _, width in wide)),
        (*task.launch_ns, *(task.launches_ns(device) for device, _ in wide))
        if task.launch_ns
        else (),
    )


def arrays(problem: Problem, placement: Placement) -> tuple[Numbers, Numbers]:
    """Places and priorities as a compiled problem takes them.

    Raises
    ------
    ValueError
        If a number has more than 64 bits, or a task does not have the width that was chosen.
    """
    return _array(_places(problem, placement)), _array(placement.priority)


def placement_at(
    problem: Problem, places: Sequence[int], priority: Sequence[int], policy: str
) -> Placement:
    """The inverse of ``arrays``; without widths if all tasks are at their narrowest."""
    count = len(problem.devices)
    if max(places, default=0) < count:
        return Placement(tuple(places), tuple(priority), policy)
    chosen = [problem.places[place] for place in places]
    widths = (
        width or task.width(device)
        for task, (device, width) in zip(problem.tasks, chosen, strict=True)
    )
    return Placement(tuple(d for d, _ in chosen), tuple(priority), policy, tuple(widths))


def _places(problem: Problem, placement: Placement) -> Sequence[int]:
    has_choice = is_moldable(problem)
    if has_choice or placement.width_of:
        placement.check(problem)
    if not (has_choice and placement.width_of):
        return placement.device_of
    number = {place: index for index, place in enumerate(problem.places)}
    rows = zip(problem.tasks, placement.device_of, placement.width_of, strict=True)
    return [
        device if width == task.width(device) else number[device, width]
        for task, device, width in rows
    ]


def held_rows(problem: Problem, placement: Placement) -> Numbers | None:
    """Holds as a compiled problem takes them; None without any.

    Raises
    ------
    ValueError
        As ``check_holds``.
    """
    if placement.holds or placement.copy_holds:
        placement.check(problem)
    return _rows(problem, placement)


def _rows(problem: Problem, placement: Placement) -> Numbers | None:
    if not (placement.holds or placement.copy_holds):
        return None
    waits, memory = Waits(problem, placement), memory_indices(problem)
    rows = [(t, task, -1) for task, tensors in waits.held_inputs.items() for t in tensors]
    for (tensor, target), elders in waits.copies.items():
        rows += [(elder, tensor, memory[target]) for elder in elders]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _array(numbers: Sequence[int]) -> Numbers:
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError as error:
        raise ValueError(f"placement: {error}") from error


def _is_fifo(params: SimulatorParams | None) -> bool:
    return params is not None and params.order == "fifo"
