"""What a placement comes to, by the native evaluator: as ``simulate`` says, without a timeline.

Policies ask it for each plan that they consider. A problem is handed over when it is first asked
about (which takes about as long as a simulation in Python), and forgotten with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.placement._evaluator import Evaluator
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import SimulatorParams
from surplus.placement.waits import Waits

Numbers = NDArray[np.int64]

_COMPILED: dict[int, Evaluator] = {}
"""By the identity of a problem, as long as that lives: problems are equal by value, but have none
that is worth computing each time, and are copied and pickled without what was made of them."""


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
    holds = held_rows(problem, placement)
    return compiled(problem).makespan_ns(*arrays(placement), _is_fifo(params), holds)


def schedule(
    problem: Problem, placement: Placement, params: SimulatorParams | None = None
) -> Schedule:
    """The times of ``simulate(problem, placement, params)``; errors as ``makespan_ns``."""
    if placement.holds or placement.copy_holds:
        placement.check(problem)
    return unchecked_schedule(problem, placement, params)


def unchecked_schedule(
    problem: Problem, placement: Placement, params: SimulatorParams | None = None
) -> Schedule:
    """``schedule`` of a placement whose holds are known to be such as can be kept."""
    holds = _rows(problem, placement)
    return Schedule(*compiled(problem).schedule(*arrays(placement), _is_fifo(params), holds))


def compiled(problem: Problem) -> Evaluator:
    """The evaluator of a problem: who has arrays of devices and priorities asks it directly."""
    found = _COMPILED.get(id(problem))
    if found is None:
        found = _COMPILED.setdefault(id(problem), _compile(problem))
        weakref.finalize(problem, _COMPILED.pop, id(problem), None)
    return found


def memory_indices(problem: Problem) -> dict[str, int]:
    """The evaluator's number of each memory, ascending."""
    spaces = [device.memory for device in problem.devices]
    spaces += [space for link in problem.links for space in (link.source, link.target)]
    return {space: index for index, space in enumerate(dict.fromkeys(spaces))}


def _compile(problem: Problem) -> Evaluator:
    return compile_with(problem, [task.service_ns for task in problem.tasks])


def compile_with(problem: Problem, service_ns: Sequence[Sequence[int | None]]) -> Evaluator:
    """The evaluator of the same problem with other service times, by task and device."""
    memory = memory_indices(problem)
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
        [
            (task.name, tuple(times), task.widths, task.launch_ns)
            for task, times in zip(problem.tasks, service_ns, strict=True)
        ],
        [(t.producer, t.consumers, t.size_bytes, t.is_output) for t in problem.tensors],
    )


def arrays(placement: Placement) -> tuple[Numbers, Numbers]:
    """Devices and priorities as a compiled problem takes them.

    Raises
    ------
    ValueError
        If a number has more than 64 bits.
    """
    return _array(placement.device_of), _array(placement.priority)


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
