"""The load of time windows as a bound of the makespan, transfers to each device included.

Tasks of which none can start before h and after none of which the query ends within q run in
[h, T - q]. Those of them that run on device d run there within [a[d], T - z[d]], where a[d] and
z[d] are the least head and tail that any of them has on d: data that has to be brought to a device
first, or home from it, is counted. So if they use exactly the devices U,

    T >= (sum_i min_d p[d] c[i][d] + sum_d p[d] L[d] (a[d] + z[d])) / sum_d p[d] L[d],    d in U,

for all prices p >= 0, since L[d] (T - a[d] - z[d]) is at least the work on d. Which U is used is
not known: the least over all of them bounds T. Of many devices only the set of all is tried, with
the least a and z over all, which hold wherever the tasks run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from surplus.milp.priced_loads import Floats, PricedLoads, priced_loads, rounded_up, sets_of_devices
from surplus.milp.windows import Windows
from surplus.placement.problem import Problem

QUANTILES = 16
"""Heads and tails that are tried as the ends of windows, each with each."""

FORCED_QUANTILES = 8
"""The same where each task is looked at on each device."""

Sets = NDArray[np.uint8]


def window_loads_ns(problem: Problem, windows: Windows, quantiles: int = QUANTILES) -> int:
    """The best bound over windows of the query.

    Parameters
    ----------
    quantiles : int
        How many heads and tails are tried, >= 1.
    """
    if not problem.tasks:
        return 0
    insides, margins = _windows_of(problem, windows, quantiles)
    bounds = [_if_used(loads, insides, margins).max(axis=1) for loads in _choices(problem, windows)]
    return int(rounded_up(np.min(bounds, axis=0)).max(initial=0))


def forced_loads_ns(
    problem: Problem, windows: Windows, quantiles: int = FORCED_QUANTILES
) -> Floats:
    """The same if one task runs on one device, shape (tasks, devices); 0 where nothing is known.

    What that costs beyond its cheapest device is added, at the prices that bound a window best.
    """
    if not problem.tasks:
        return np.zeros((0, len(problem.devices)))
    insides, margins = _windows_of(problem, windows, quantiles)
    forced = np.full((*insides.shape, len(problem.devices)), np.inf)
    for loads in _choices(problem, windows):
        ratios = _if_used(loads, insides, margins)
        best = ratios.argmax(axis=1)
        base = ratios[np.arange(len(best)), best]
        capacity = loads.capacity.sum(axis=1)[best]
        for column, device in enumerate(loads.used):
            able = np.isfinite(loads.costs[:, column])
            own = np.outer(np.where(able, loads.costs[:, column], 0.0), loads.prices[:, column])
            more = np.where(np.isinf(loads.cheapest), 0.0, own - loads.cheapest)[:, best].T
            here = base[:, None] + more / capacity[:, None]
            forced[:, :, device] = np.minimum(forced[:, :, device], here)
    forced = np.where(insides[:, :, None] > 0, forced, 0.0)
    least: Floats = rounded_up(forced).max(axis=0)
    return least


def _windows_of(problem: Problem, windows: Windows, quantiles: int) -> tuple[Sets, Floats]:
    """Tasks of each window, and by device how much of the query is outside of it."""
    heads, tails = _table(windows.head_ns, problem), _table(windows.tail_ns, problem)
    insides = _insides(heads.min(axis=1), tails.min(axis=1), quantiles)
    first, last = _least_of(insides, heads), _least_of(insides, tails)
    if len(sets_of_devices(len(problem.devices))) == 1:
        alike = first.min(axis=1) + last.min(axis=1)
        return insides, np.repeat(alike[:, None], len(problem.devices), axis=1)
    return insides, first + last


def _choices(problem: Problem, windows: Windows) -> Iterator[PricedLoads]:
    for used in sets_of_devices(len(problem.devices)):
        yield priced_loads(problem, windows.devices, used)


def _if_used(loads: PricedLoads, insides: Sets, margins: Floats) -> Floats:
    """Bound of each window at each price if its tasks use exactly some devices.

    Infinite if they cannot.
    """
    offsets = margins[:, loads.used]
    unable = np.isinf(loads.cheapest).any(axis=1)
    foreign, away = insides[:, unable] > 0, np.isinf(offsets)
    excluded = np.any(np.concatenate([foreign, away], axis=1), axis=1, keepdims=True)
    priced = np.where(np.isinf(offsets), 0.0, offsets) @ loads.capacity.T
    ratios = (loads.work(insides) + priced) / loads.capacity.sum(axis=1)
    bounds: Floats = np.where(excluded, np.inf, ratios)
    return bounds


def _least_of(insides: Sets, times: Floats) -> Floats:
    """Least time of any task of each set on each device, infinite if none can run there."""
    # Set by set: of all at once the table would be the largest of the whole search.
    least: Floats = np.array([times[inside > 0].min(axis=0) for inside in insides])
    return least


def _table(rows: tuple[dict[int, int], ...], problem: Problem) -> Floats:
    table = np.full((len(rows), len(problem.devices)), np.inf)
    for task, row in enumerate(rows):
        for device, time_ns in row.items():
            table[task, device] = time_ns
    return table


def _insides(heads: Floats, tails: Floats, quantiles: int) -> Sets:
    """Tasks of each window, shape (windows, tasks), windows without any left out."""
    late = [heads >= head for head in _spread(heads, quantiles)]
    early = [tails >= tail for tail in _spread(tails, quantiles)]
    rows = (a & b for a in late for b in early)
    return np.array([row for row in rows if row.any()], np.uint8)


def _spread(values: Floats, count: int) -> Floats:
    """Some of the values, the least among them."""
    distinct = np.unique(values)
    picked: Floats = distinct[:: -(-len(distinct) // count)]
    return picked
