"""Placements by price: each task where it costs least, at the price that balances the load best.

The dual of the fractional assignment (``placement.load_bounds``) puts up to a ratio of times all
tasks on one side and all others on the other. Where many small tasks may wait for each other's data
without anything standing still, that very placement is within a percent or two of the bound; where
they may not, it is no good. So the ratio is searched for by what the plans really come to.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.milp.deadline import Deadline
from surplus.placement.evaluator import makespan_ns
from surplus.placement.load_bounds import lane_costs_ns
from surplus.placement.ordering import planned
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

_NAME = "priced"
_STEPS = 16
_ZOOM = 4


def priced_placement(
    problem: Problem, devices: Sequence[Sequence[int]], deadline: Deadline
) -> Placement | None:
    """The best by simulation of those that are tried; None if there is nothing to choose.

    Parameters
    ----------
    devices : sequence of sequence of int
        Those that each task may use.
    """
    sides = range(1 if len(problem.devices) == 2 else len(problem.devices))
    lines = [_Line(problem, devices, side) for side in sides]
    best = [line.best(deadline) for line in lines if line.length]
    found = [placed for placed in best if placed is not None]
    return min(found, key=lambda placed: makespan_ns(problem, placed), default=None)


class _Line:
    """Placements between all on one device and none: the first k tasks by ratio are there."""

    def __init__(self, problem: Problem, devices: Sequence[Sequence[int]], side: int) -> None:
        self._problem = problem
        self._side = side
        costs = lane_costs_ns(problem)
        lanes = [device.lanes for device in problem.devices]

        def share(task: int, device: int) -> float:
            return (costs[task][device] or 0) / lanes[device]

        self._away: list[int] = []
        ratios: list[tuple[float, int]] = []
        for task, choices in enumerate(devices):
            others = [d for d in choices if d != side] or [side]
            away = min(others, key=lambda d: share(task, d))
            self._away.append(away)
            if side in choices and away != side:
                ratios.append((share(task, side) / max(share(task, away), 1e-9), task))
        self._ranked = [task for _, task in sorted(ratios)]
        self._known: dict[int, tuple[int, Placement]] = {}

    @property
    def length(self) -> int:
        """How many tasks may be on either side."""
        return len(self._ranked)

    def best(self, deadline: Deadline) -> Placement | None:
        """Coarse steps first, then finer ones around the best."""
        low, high = 0, self.length
        while not deadline.is_over:
            step = max(1, (high - low) // _STEPS)
            for count in range(low, high + 1, step):
                if deadline.left_s <= 0:
                    break
                self._look(count)
            if step == 1:
                break
            middle = min(self._known, key=lambda count: (self._known[count][0], count))
            reach = max(_STEPS // 2, (high - low) // (2 * _ZOOM))
            low, high = max(0, middle - reach), min(self.length, middle + reach)
        return min(self._known.values(), key=lambda row: row[0])[1] if self._known else None

    def _look(self, count: int) -> None:
        if count not in self._known:
            devices = list(self._away)
            for task in self._ranked[:count]:
                devices[task] = self._side
            placed = planned(self._problem, devices, _NAME)
            self._known[count] = (makespan_ns(self._problem, placed), placed)
