"""Bounds from load, valid for machines on which tasks take different times.

Let c[i][d] be the lane-nanoseconds (least service time times width, at the width of which that is
least) of task i on device d and L[d] the lanes of d. In a schedule of makespan T the tasks on d
have a sum of c[i][d] <= T L[d]. Weighted with any prices p[d] >= 0 and summed over d, and since no
task costs less than on its cheapest device:

    T >= sum_i min_d p[d] c[i][d]  /  sum_d p[d] L[d]

This is the Lagrangian dual of the fractional assignment: every choice of prices gives a valid
bound. The prices tried here set one device against all others; with two devices the best of them
is the optimum of the fractional assignment. Everything is in integers: floats would lose
nanoseconds in the products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

import numpy as np

from surplus.placement.path_bounds import heads_ns, tails_ns
from surplus.placement.problem import Problem
from surplus.placement.widths import least_work_ns

Costs = Sequence[Sequence[int | None]]
Price = tuple[int, ...]
T = TypeVar("T")

_WINDOW_PRICES = 12
_WINDOW_TAILS = 6
_PRICE_SCALE = 1_000
_UNABLE = -1
_NEVER = 1 << 62


def load_bound_ns(problem: Problem) -> int:
    """All work over all lanes, at the best prices."""
    costs, lanes = lane_costs_ns(problem), [device.lanes for device in problem.devices]
    if len(lanes) == 1:
        return _ceil_ratio(sum(row[0] or 0 for row in costs), lanes[0])
    return max(
        _two_sided_ns(_two_sides(costs, d), lanes[d], sum(lanes) - lanes[d])
        for d in range(len(lanes))
    )


def window_bound_ns(problem: Problem) -> int:
    """The best bound over windows of the query.

    Tasks that cannot start before h and after whose end the query goes on for at least q run
    within [h, T - q], so T >= h + load of these tasks + q. All h are tried, and for each of a few
    prices a few q.
    """
    if not problem.tasks:
        return 0
    heads, tails = np.array(heads_ns(problem)), np.array(tails_ns(problem))
    lanes = [device.lanes for device in problem.devices]
    costs = lane_costs_ns(problem)
    table = np.array([[_UNABLE if cost is None else cost for cost in row] for row in costs])
    late_first = np.argsort(-heads, kind="stable")
    best = 0
    for price in set(prices_of(costs, len(lanes))):
        capacity = sum(p * count for p, count in zip(price, lanes, strict=True))
        cheapest = np.where(table == _UNABLE, _NEVER, table * np.array(price)).min(axis=1)
        for q in {0, *_quantiles(sorted(tails.tolist()), _WINDOW_TAILS)}:
            inside = late_first[tails[late_first] >= q]
            work = np.cumsum(cheapest[inside])
            best = max(best, int(np.max(heads[inside] - (-work // capacity))) + q)
    return best


def lane_costs_ns(problem: Problem) -> list[list[int | None]]:
    """c[i][d], lane-nanoseconds of task i on device d; None where it cannot run."""
    return least_work_ns(problem)


def _two_sides(costs: Costs, device: int) -> list[tuple[int | None, int | None]]:
    """Each task's cost on ``device``, and its least cost on the others."""
    return [(row[device], _least([*row[:device], *row[device + 1 :]])) for row in costs]


def _two_sided_ns(costs: list[tuple[int | None, int | None]], lanes_a: int, lanes_b: int) -> int:
    """Best price ratio for two sides; the dual is piecewise linear, so one of the tasks' ratios.

    Tasks are sorted by cost on a over cost on b. At task k's ratio (prices p_a = b_k, p_b = a_k)
    all tasks up to k are cheaper on a, all later ones on b.
    """
    only_a = sum(a for a, b in costs if a is not None and b is None)
    only_b = sum(b for a, b in costs if a is None and b is not None)
    both = _by_ratio(costs)
    on_a = list(accumulate((a for a, _ in both), initial=only_a))
    on_b = list(accumulate((b for _, b in reversed(both)), initial=only_b))[::-1]
    best = max(_ceil_ratio(only_a, lanes_a), _ceil_ratio(only_b, lanes_b))
    for k, (a, b) in enumerate(both):
        priced = b * on_a[k + 1] + a * on_b[k + 1]
        best = max(best, _ceil_ratio(priced, b * lanes_a + a * lanes_b))
    return best


def _by_ratio(costs: list[tuple[int | None, int | None]]) -> list[tuple[int, int]]:
    """Costs (a, b) of the tasks that can run on both sides and take time, by exact a / (a + b)."""
    both = [(a, b) for a, b in costs if a is not None and b is not None and a + b > 0]
    return sorted(both, key=lambda pair: Fraction(pair[0], pair[0] + pair[1]))


def prices_of(costs: Costs, device_count: int) -> Iterator[Price]:
    """A few prices: equal ones, one device alone, and ratios at which tasks change sides.

    Rounded to at most ``_PRICE_SCALE``, so that their products with costs fit 64 bits.
    """
    yield (1,) * device_count
    for d in range(device_count):
        yield tuple(int(other == d) for other in range(device_count))
        for a, b in _quantiles(_by_ratio(_two_sides(costs, d)), _WINDOW_PRICES):
            here, there = (round(_PRICE_SCALE * x / max(a, b)) for x in (b, a))
            yield tuple(here if other == d else there for other in range(device_count))


def _quantiles(values: Sequence[T], count: int) -> list[T]:
    """At most ``count`` of the sorted values, evenly spread over their number."""
    step = max(1, len(values) // count)
    return list(values[step // 2 :: step])


def _least(costs: Sequence[int | None]) -> int | None:
    return min((cost for cost in costs if cost is not None), default=None)


def _ceil_ratio(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
