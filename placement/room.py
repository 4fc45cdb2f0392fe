"""Whether memories hold what a placement puts there, by the native evaluator.

``memory_use`` says how much, when and of what; policies that try hundreds of placements ask this.
"""

from __future__ import annotations

from surplus.placement._evaluator import Room
from surplus.placement.evaluator import arrays, compiled, held_rows, memory_indices
from surplus.placement.memory import binding_capacities, own_bytes
from surplus.placement.per_problem import PerProblem
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

Constants = tuple[list[int], list[int], list[tuple[int, ...]], list[int]]


def fits(problem: Problem, placement: Placement) -> bool:
    """Whether the simulated query stays within all memories; errors as ``makespan_ns``."""
    room = _room_of(problem)
    if room is None:
        return True
    return room.holds(*arrays(problem, placement), held_rows(problem, placement))


def _room(problem: Problem) -> Room | None:
    """None if nothing is limited."""
    constants = constants_of(problem)
    return Room(compiled(problem), constants) if constants[0] else None


_room_of = PerProblem(_room)


def constants_of(problem: Problem) -> Constants:
    """What memories can hold and constants take; nothing if there is room for all."""
    limits = binding_capacities(problem)
    if not limits:
        return [], [], [], []
    tasks = range(len(problem.tasks))
    return (
        [limits.get(memory, -1) for memory in memory_indices(problem)],
        [own_bytes(problem, task) for task in tasks],
        [problem.tasks[task].blobs for task in tasks],
        [blob.size_bytes for blob in problem.blobs],
    )
