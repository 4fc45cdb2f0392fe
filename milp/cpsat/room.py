"""Memory in the constraint program: what lies in a memory stays within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surplus.milp.cpsat.or_tools import cp_model
from surplus.milp.memory import Item, Knapsack, MemoryRoom, knapsacks

if TYPE_CHECKING:
    from surplus.milp.cpsat.model import ConstraintModel


def limit_memories(model: ConstraintModel, room: MemoryRoom) -> None:
    """Add the knapsacks of a problem to its program."""
    for sack in knapsacks(model.problem, room):
        _limit(model, sack)


def _limit(model: ConstraintModel, sack: Knapsack) -> None:
    inside = {i: model.inside(i, sack.memory) for i in range(len(model.problem.tasks))}
    placed = {i: literal for i, literal in inside.items() if literal is not None}
    held = [size * placed[i] for i, size in sack.own_bytes.items() if i in placed]
    held += [item.size_bytes * _there(model, placed, item) for item in sack.items]
    total = sum(held)
    model.program.add(total <= sack.capacity_bytes)
    for i, size in sack.passing_bytes.items():
        if size and i in placed:
            model.program.add(total + size * placed[i] <= sack.capacity_bytes)


def _there(
    model: ConstraintModel, placed: dict[int, cp_model.IntVar], item: Item
) -> cp_model.IntVar:
    if item.always:
        return model.program.new_constant(1)
    there = model.program.new_bool_var("")
    for task in item.holders:
        if task in placed:
            model.program.add_implication(placed[task], there)
    return there
