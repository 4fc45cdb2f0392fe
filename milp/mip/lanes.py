"""Lanes in the integer program: which of its device's lanes a task takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pulp

from surplus.milp.reductions import Pair
from surplus.placement.placement import Placement

if TYPE_CHECKING:
    from surplus.milp.mip.model import PlacementModel


class Lanes:
    """The lanes of a program's contended devices; not in the paper.

    ``z_i_d_l`` gives task i lane l of device d. A device of one lane needs none of these, nor does
    one that has a lane for every task that may come.

    Parameters
    ----------
    model : PlacementModel
        Gets the variables at once, the rows by ``take``.
    """

    def __init__(self, model: PlacementModel) -> None:
        self._model = model
        self._devices = model.problem.devices
        self._contended = {d for d in range(len(self._devices)) if self._is_contended(d)}
        add = model.program.add_variable
        self._z: dict[tuple[int, int, int], pulp.LpVariable] = {
            (i, d, lane): add(f"z_{i}_{d}_{lane}", cat="Binary")
            for i, d in model.placed
            if d in self._contended
            for lane in range(self._devices[d].lanes)
        }

    def take(self) -> None:
        """Make each task take as many lanes as it is wide.

        Lanes are alike, so they are numbered in the order in which tasks, by index, first use
        them: a lane is for tasks up to which the lane below it was used.
        """
        placed = self._model.placed
        for (i, d), chosen in placed.items():
            if d not in self._contended:
                continue
            lanes = range(self._devices[d].lanes)
            width = self._model.problem.tasks[i].width(d)
            taken = pulp.lpSum(self._z[i, d, lane] for lane in lanes)
            self._model.add(taken == width * chosen)
            for lane in lanes[1:]:
                elders = [self._z[j, d, lane - 1] for j in range(i + 1) if (j, d) in placed]
                self._model.add(self._z[i, d, lane] <= pulp.lpSum(elders))

    def meetings(self, pair: Pair) -> Iterator[pulp.LpAffineExpression]:
        """Sums that are 2 where both tasks of a pair share a lane, by shared lane."""
        placed = self._model.placed
        for d in pair.devices:
            if self._devices[d].lanes == 1:
                yield placed[pair.first, d] + placed[pair.second, d]
            elif d in self._contended:
                for lane in range(self._devices[d].lanes):
                    yield self._z[pair.first, d, lane] + self._z[pair.second, d, lane]

    def start_values(
        self, placement: Placement, lanes: Mapping[int, tuple[int, ...]]
    ) -> dict[str, float]:
        """Variables that are 1 in a known schedule, its lanes renumbered as ``take`` wants them.

        Parameters
        ----------
        lanes : mapping of int to tuple of int
            By task.
        """
        values: dict[str, float] = {}
        numbers: dict[tuple[int, int], int] = {}
        used = [0] * len(self._devices)
        for i in range(len(self._model.problem.tasks)):
            d = placement.device_of[i]
            for lane in lanes[i]:
                if (d, lane) not in numbers:
                    numbers[d, lane] = used[d]
                    used[d] += 1
                if (i, d, numbers[d, lane]) in self._z:
                    values[f"z_{i}_{d}_{numbers[d, lane]}"] = 1.0
        return values

    def names(self) -> Iterator[str]:
        """Of all variables."""
        return (variable.name for variable in self._z.values())

    def _is_contended(self, device: int) -> bool:
        """Whether a device has several lanes, but not one for every task that may come."""
        tasks = self._model.problem.tasks
        comers = (i for i, d in self._model.placed if d == device)
        return 1 < self._devices[device].lanes < sum(tasks[i].width(device) for i in comers)
