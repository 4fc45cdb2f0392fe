"""Memory in the integer program: rows that keep what lies in a memory within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulp

from surplus.milp.memory import Item, Knapsack, MemoryRoom, knapsacks

if TYPE_CHECKING:
    from surplus.milp.mip.model import PlacementModel


class RoomRows:
    """The knapsacks of a program; not in the paper.

    ``y_m_b`` says that shared item b lies in limited memory m. Nothing gains from it, so it needs
    no integrality: it is at least every ``x`` that brings the item there.

    Parameters
    ----------
    model : PlacementModel
        Gets the variables and rows.
    room : MemoryRoom
        What has to fit at once.
    """

    def __init__(self, model: PlacementModel, room: MemoryRoom) -> None:
        self._model = model
        for number, sack in enumerate(knapsacks(model.problem, room)):
            self._limit(number, sack)

    def _limit(self, number: int, sack: Knapsack) -> None:
        # In units of the capacity: bytes are too large beside the other rows.
        unit = max(sack.capacity_bytes, 1)
        held = [
            size / unit * place
            for task, size in sack.own_bytes.items()
            for place in self._model.inside(task, sack.memory)
        ]
        held += [item.size_bytes / unit * self._there(number, sack, item) for item in sack.items]
        total = self._model.program.add_variable(f"w_{number}", 0, sack.capacity_bytes / unit)
        self._model.add(total == pulp.lpSum(held))
        for task, size in sack.passing_bytes.items():
            places = self._model.inside(task, sack.memory)
            if size and places:
                beside = total + size / unit * pulp.lpSum(places)
                self._model.add(beside <= sack.capacity_bytes / unit)

    def _there(self, number: int, sack: Knapsack, item: Item) -> pulp.LpVariable:
        name = f"y_{number}_{item.name}"
        there = self._model.program.add_variable(name, int(item.always), 1)
        for task in item.holders:
            places = self._model.inside(task, sack.memory)
            if places:
                self._model.add(there >= pulp.lpSum(places))
        return there
