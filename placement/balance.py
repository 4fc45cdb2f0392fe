"""``balance``: the least work on the busiest resource, for many queries at once.

Policies that look at one query's end leave on the CPU whatever finishes there in time. While
queries overlap that no longer counts: the busiest resource decides how many end in a second
(occupancy.py). So work moves, a task at a time, as long as the busiest gets less to do, or else the
next busiest; from several beginnings, since a task alone may have to pay for copies that it and its
neighbours would save.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surplus.placement.occupancy import Occupancy
from surplus.placement.ordering import planned
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem

_NAME = "balance"


@dataclass(frozen=True)
class BalanceParams:
    """Options of ``balance``.

    Parameters
    ----------
    prices : tuple of float
        Beginnings: each task where its time is least if that of the host's devices counts so
        many times as much as others'.
    max_sweeps : int
        Most passes over all tasks from each beginning, >= 1.
    """

    prices: tuple[float, ...] = (0.1, 0.3, 0.6, 1.0, 1.6, 3.0, 10.0)
    max_sweeps: int = 10

    def __post_init__(self) -> None:
        if not self.prices or any(price <= 0 for price in self.prices):
            raise ValueError(f"prices must be some numbers > 0, got {self.prices}")
        if self.max_sweeps < 1:
            raise ValueError(f"max_sweeps must be >= 1, got {self.max_sweeps}")


@register(_NAME, BalanceParams)
class Balance:
    """Local search for the least bottleneck."""

    def __init__(self, params: BalanceParams | None = None) -> None:
        self._params = params or BalanceParams()

    def place(self, problem: Problem) -> Placement:
        """Search from each beginning; ties go to the one that is named first."""
        found = [self._balanced(problem, devices) for devices in self._beginnings(problem)]
        best = min(found, key=Occupancy.load)
        return planned(problem, best.device_of, _NAME)

    def _beginnings(self, problem: Problem) -> Iterator[list[int]]:
        host = problem.devices[0].memory
        for price in self._params.prices:
            prices = [price if d.memory == host else 1.0 for d in problem.devices]
            yield [
                min((t * prices[d], d) for d, t in enumerate(task.service_ns) if t is not None)[1]
                for task in problem.tasks
            ]

    def _balanced(self, problem: Problem, devices: list[int]) -> Occupancy:
        occupancy = Occupancy(problem, devices)
        for _ in range(self._params.max_sweeps):
            moved = [_improve(problem, occupancy, task) for task in range(len(problem.tasks))]
            if not any(moved):
                break
        return occupancy


def _improve(problem: Problem, occupancy: Occupancy, task: int) -> bool:
    """Put a task where the load is least; whether it moved."""
    here = best = occupancy.device_of[task]
    least = occupancy.load()
    for device, service_ns in enumerate(problem.tasks[task].service_ns):
        if device == here or service_ns is None:
            continue
        occupancy.move(task, device)
        if occupancy.load() < least:
            best, least = device, occupancy.load()
    occupancy.move(task, best)
    return best != here
