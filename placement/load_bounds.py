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

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from surplus.placement.path_bounds import NEVER_NS, BoundTables, Numbers, least_times_ns
from surplus.placement.problem import Problem
from surplus.placement.widths import least_work_ns

Price = tuple[int, ...]

_WINDOW_PRICES = 12
_WINDOW_TAILS = 6
_PRICE_SCALE = 1_000

_EXACT = 16
"""Prices that are looked at in integers, of those that are best in floats."""


def load_bound_ns(problem: Problem, tables: BoundTables | None = None) -> int:
    """All work over all lanes, at the best prices.

    Parameters
    ----------
    tables : BoundTables, optional
        The problem's, where they are known.
    """
    works = least_times_ns(problem)[1] if tables is None else tables.works_ns
    lanes = [device.lanes for device in problem.devices]
    if len(lanes) == 1:
        return _ceil_ratio(sum(works[:, 0].tolist()), lanes[0])
    return max(
        _two_sided_ns(*_two_sides(works, d), lanes[d], sum(lanes) - lanes[d])
        for d in range(len(lanes))
    )


def window_bound_ns(problem: Problem, tables: BoundTables) -> int:
    """The best bound over windows of the query.

    Tasks that cannot start before h and after whose end the query goes on for at least q run
    within [h, T - q], so T >= h + load of these tasks + q. All h are tried, and for each of a few
    prices a few q.
    """
    if not problem.tasks:
        return 0
    heads, tails, works = tables.heads_ns(), tables.tails_ns(), tables.works_ns
    able = works < NEVER_NS
    lanes = [device.lanes for device in problem.devices]
    late_first = np.argsort(-heads, kind="stable")
    best = 0
    for price in set(prices_of(works)):
        capacity = sum(p * count for p, count in zip(price, lanes, strict=True))
        priced = np.where(able, works, 0) * np.array(price)
        cheapest = np.where(able, priced, NEVER_NS).min(axis=1)
        for q in {0, *_quantiles(np.sort(tails), _WINDOW_TAILS).tolist()}:
            inside = late_first[tails[late_first] >= q]
            work = np.cumsum(cheapest[inside])
            best = max(best, int(np.max(heads[inside] - (-work // capacity))) + q)
    return best


def lane_costs_ns(problem: Problem) -> list[list[int | None]]:
    """c[i][d], lane-nanoseconds of task i on device d; None where it cannot run."""
    return least_work_ns(problem)


def _two_sides(works: Numbers, device: int) -> tuple[Numbers, Numbers]:
    """Each task's cost on ``device``, and its least cost on the others."""
    return works[:, device], np.delete(works, device, axis=1).min(axis=1)


def _two_sided_ns(on_a: Numbers, on_b: Numbers, lanes_a: int, lanes_b: int) -> int:
    """Best price ratio for two sides; the dual is piecewise linear, so one of the tasks' ratios.

    Tasks are sorted by cost on a over cost on b. At task k's ratio (prices p_a = b_k, p_b = a_k)
    all tasks up to k are cheaper on a, all later ones on b. Which ratios are best is found in
    floats; what those say, with each task where it is cheapest, is a bound in integers.
    """
    only_a = sum(on_a[on_b == NEVER_NS].tolist())
    only_b = sum(on_b[on_a == NEVER_NS].tolist())
    a, b = _by_ratio(on_a, on_b)
    says = _says_ns(a, b, only_a, only_b, lanes_a, lanes_b)
    best = max(_ceil_ratio(only_a, lanes_a), _ceil_ratio(only_b, lanes_b))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for a_k, b_k in {pairs[k] for k in np.argsort(-says, kind="stable")[:_EXACT].tolist()}:
        cheapest = sum(min(b_k * a_i, a_k * b_i) for a_i, b_i in pairs)
        priced = b_k * only_a + a_k * only_b + cheapest
        best = max(best, _ceil_ratio(priced, b_k * lanes_a + a_k * lanes_b))
    return best


def _says_ns(
    a: Numbers, b: Numbers, only_a: int, only_b: int, lanes_a: int, lanes_b: int
) -> NDArray[np.float64]:
    """The bound by each task's ratio, of tasks that are sorted by it."""
    near, far = a.astype(np.float64), b.astype(np.float64)
    up_to = only_a + np.cumsum(near)
    later = only_b + far.sum() - np.cumsum(far)
    says: NDArray[np.float64] = (far * up_to + near * later) / (far * lanes_a + near * lanes_b)
    return says


def cheaper_here(problem: Problem, device: int) -> NDArray[np.bool_]:
    """Which tasks the least load puts on one device rather than on any other of at least two.

    The last of them belongs to both sides, in fractions.
    """
    lanes = [d.lanes for d in problem.devices]
    here, away = _two_sides(least_times_ns(problem)[1], device)
    a, b = _by_ratio(here, away)
    is_here: NDArray[np.bool_] = away == NEVER_NS
    if len(a):
        only = int(here[is_here].sum()), int(away[here == NEVER_NS].sum())
        k = _says_ns(a, b, *only, lanes[device], sum(lanes) - lanes[device]).argmax()
        is_here |= here * float(b[k]) <= away * float(a[k])
    return is_here & (here < NEVER_NS)


def _by_ratio(on_a: Numbers, on_b: Numbers) -> tuple[Numbers, Numbers]:
    """Costs on a and b of the tasks that can run on both and take time, by a / (a + b)."""
    both = (on_a < NEVER_NS) & (on_b < NEVER_NS)
    both &= (on_a > 0) | (on_b > 0)
    a, b = on_a[both], on_b[both]
    order = np.argsort(a / (a.astype(np.float64) + b), kind="stable")
    return a[order], b[order]


def prices_of(works: Numbers) -> Iterator[Price]:
    """A few prices: equal ones, one device alone, and ratios at which tasks change sides.

    Rounded to at most ``_PRICE_SCALE``, so that their products with costs fit 64 bits.

    Parameters
    ----------
    works : array of int64, shape (tasks, devices)
        See ``BoundTables``.
    """
    device_count = works.shape[1]
    yield (1,) * device_count
    for d in range(device_count):
        yield tuple(int(other == d) for other in range(device_count))
        if device_count == 1:
            return
        pairs = np.stack(_by_ratio(*_two_sides(works, d)), axis=1)
        for a, b in _quantiles(pairs, _WINDOW_PRICES).tolist():
            here, there = (round(_PRICE_SCALE * x / max(a, b)) for x in (b, a))
            yield tuple(here if other == d else there for other in range(device_count))


def _quantiles(values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most ``count`` of the sorted values, evenly spread over their number."""
    step = max(1, len(values) // count)
    return values[step // 2 :: step]


def _ceil_ratio(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
