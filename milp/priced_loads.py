"""What sets of tasks cost at prices of the devices' time, as arrays: many load bounds at once.

As ``placement.load_bounds`` proves, T >= sum_i min_d p[d] c[i][d] / sum_d p[d] L[d] for tasks i
that all run within T, prices p >= 0, lane-nanoseconds c and lanes L. Here the prices are a few that
suit the problem, and all sums over many sets are one product of matrices.

They are of floats: sums below 2^53 are exact, and what is lost above is far less than
``_MARGIN``, by which every ratio is lowered before it is rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surplus.placement.load_bounds import lane_costs_ns
from surplus.placement.problem import Problem

Floats = NDArray[np.float64]

_PRICES = 24
_MARGIN = 1e-11
_SETS_AT_ONCE, _CELLS_AT_ONCE = 1024, 8 << 20
_DEVICES_MAX = 4
"""Up to so many devices every set of used ones is tried, above only the set of all."""


@dataclass(frozen=True)
class PricedLoads:
    """Costs of each task at each price, for tasks that keep to ``used`` devices.

    Parameters
    ----------
    used : tuple of int
        Devices that the tasks may use.
    prices : array, shape (prices, used devices)
        Each device's.
    costs : array, shape (tasks, used devices)
        Lane-nanoseconds, infinite where a task cannot run.
    cheapest : array, shape (tasks, prices)
        The least that a task costs on them; infinite where it cannot run.
    capacity : array, shape (prices, used devices)
        What an instant of all lanes of each device costs.
    """

    used: tuple[int, ...]
    prices: Floats
    costs: Floats
    cheapest: Floats
    capacity: Floats

    def of(self, sets: NDArray[np.uint8]) -> Floats:
        """Least time of the tasks of each set, shape (sets); rounded up."""
        if not len(sets):
            return np.zeros(0)
        return rounded_up((self.work(sets) / self.capacity.sum(axis=1)).max(axis=1))

    def work(self, sets: NDArray[np.uint8]) -> Floats:
        """Cost of each set at each price, shape (sets, prices)."""
        finite = np.where(np.isinf(self.cheapest), 0.0, self.cheapest)
        step = max(1, min(_SETS_AT_ONCE, _CELLS_AT_ONCE // max(1, sets.shape[1])))
        parts = [
            sets[first : first + step].astype(np.float64) @ finite
            for first in range(0, len(sets), step)
        ]
        return np.concatenate(parts)


def rounded_up(times: Floats) -> Floats:
    """The next whole nanosecond, less what the floats may be wrong by."""
    rounded: Floats = np.ceil(times * (1 - _MARGIN) - 1e-9)
    return rounded


def priced_loads(
    problem: Problem, devices: Sequence[Sequence[int]], used: tuple[int, ...] | None = None
) -> PricedLoads:
    """Loads of tasks that may use the given devices, all of them or only ``used``."""
    costs = cost_table(problem, devices)
    used = tuple(range(len(problem.devices))) if used is None else used
    here = costs[:, used]
    lanes = np.array([problem.devices[d].lanes for d in used], np.float64)
    prices = _prices(here)
    able = np.isfinite(here)
    # Where a price is 0, what cannot run there would cost 0 times infinity.
    priced = np.where(able, here, 0.0)[:, None, :] * prices[None, :, :]
    cheapest = np.where(able[:, None, :], priced, np.inf).min(axis=2)
    return PricedLoads(used, prices, here, cheapest, prices * lanes)


def cost_table(problem: Problem, devices: Sequence[Sequence[int]]) -> Floats:
    """Lane-nanoseconds of each task on each device that it may use, infinite on others."""
    table = np.full((len(problem.tasks), len(problem.devices)), np.inf)
    for task, row in enumerate(lane_costs_ns(problem)):
        for d in devices[task]:
            table[task, d] = float(row[d] or 0)
    return table


def sets_of_devices(count: int) -> list[tuple[int, ...]]:
    """Which devices some tasks might use: every set, or all where there are many."""
    if count > _DEVICES_MAX:
        return [tuple(range(count))]
    return [u for size in range(1, count + 1) for u in combinations(range(count), size)]


def _prices(costs: Floats) -> Floats:
    """All alike, each device alone, and ratios at which tasks change from one to the others."""
    count = costs.shape[1]
    rows = [np.ones(count), *np.eye(count)]
    for d in range(count) if count > 1 else ():
        others = np.delete(costs, d, axis=1).min(axis=1)
        both = np.isfinite(others) & np.isfinite(costs[:, d])
        both &= (others > 0) & (costs[:, d] > 0)
        ratios = np.sort(others[both] / costs[both, d])
        for ratio in ratios[:: max(1, len(ratios) // _PRICES)]:
            row = np.ones(count)
            row[d] = ratio
            rows.append(row / row.max())
        if count == 2:
            break
    return np.array(rows)
