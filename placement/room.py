"""Whether memories hold what a placement puts there, by the native evaluator.

``memory_use`` says how much, when and of what; policies that try hundreds of placements ask this.
"""

from __future__ import annotations

import weakref

from surplus.placement._evaluator import Room
from surplus.placement.evaluator import arrays, compiled, held_rows, memory_indices
from surplus.placement.memory import binding_capacities, own_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

Constants = tuple[list[int], list[int], list[tuple[int, ...]], list[int]]

_ROOMS: dict[int, Room | None] = {}
"""By the identity of a problem, as long as that lives (``evaluator.py``)."""


def fits(problem: Problem, placement: Placement) -> bool:
    """Whether the simulated query stays within all memories; errors as ``makespan_ns``."""
    room = _room_of(problem)
    plan, held = arrays(problem, placement), held_rows(problem, placement)
    return room is None or room.holds(*plan, held)


def _room_of(problem: Problem) -> Room | None:
    """Made when it is first asked for; None if nothing is limited."""
    if id(problem) not in _ROOMS:
        constants = constants_of(problem)
        room = Room(compiled(problem), constants) if constants[0] else None
        _ROOMS[id(problem)] = room
        weakref.finalize(problem, _ROOMS.pop, id(problem), None)
    return _ROOMS[id(problem)]


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
