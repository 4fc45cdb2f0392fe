"""A bound for tasks that choose their widths: what makes a path short makes the load large.

``load_bounds`` lets each task take the width of the least lane-time, ``path_bounds`` that of the
least time, although it has one width only. Let tasks I run within a window of length W, at prices
p[d] >= 0 of an instant of a lane, so that all lanes cost C = sum_d p[d] L[d] an instant. Task i
takes t[i] there, which costs w[i]. Then C W >= sum_i w[i], and W >= sum t[i] + copies over any path
Q of I. So for each 0 <= s <= 1, each task with its one device and width in both sums,

    W >= s sum_i w[i] / C + (1 - s) (sum_{i in Q} t[i] + copies).

With a[i] the least of s w[i] / C, tasks that are not on Q cost a[i] at least; so

    W >= sum_i a[i] + sum_{i in Q} (s w[i] / C + (1 - s) t[i] - a[i]) + (1 - s) copies.

The last two sums are at least the longest path over devices, each edge from the device that suits
it best, by the induction of ``path_bounds``. Windows are those of ``load_bounds``: tasks that
cannot start before h and after which the query takes q at least run within T - h - q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.placement.load_bounds import prices_of
from surplus.placement.path_bounds import BoundTables
from surplus.placement.problem import Problem
from surplus.placement.widths import is_moldable, times_at

Floats = NDArray[np.float64]

TASKS_MAX = 10_000
"""Above this the paths would take seconds, and the bound is 0."""

_QUANTILES = 8
"""Heads and tails that are looked at as ends of windows, each with each."""

_WINDOWS = 4
"""Of them and of all prices, those of the highest load are tried."""

_SHARES = (0.2, 0.4, 0.6, 0.8)

_MARGIN = 1e-9
"""Far more than sums of floats lose."""


@dataclass(frozen=True)
class _Window:
    load_ns: float
    margin_ns: int
    inside: NDArray[np.bool_]
    costs: Floats


def width_bound_ns(problem: Problem, tables: BoundTables) -> int:
    """The best bound of load and a path together; 0 where no task may choose."""
    if not is_moldable(problem) or len(problem.tasks) > TASKS_MAX:
        return 0
    times, works, devices = _by_place(problem)
    path = _Paths(problem)
    best = 0.0
    for window in _windows(problem, tables, works, devices):
        for share in _SHARES:
            alone = share * window.costs
            free = alone.min(axis=1)
            both = alone + (1 - share) * times
            rows = [
                both[:, devices == d].min(axis=1, initial=np.inf) - free
                for d in range(len(problem.devices))
            ]
            longest = path.longest(np.array(rows).T.tolist(), window.inside, 1 - share)
            best = max(best, window.margin_ns + free[window.inside].sum() + longest)
    return math.ceil(best * (1 - _MARGIN) - _MARGIN)


def _by_place(problem: Problem) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Time and lane-time by task and place, infinite where it cannot run; each place's device."""
    places = [
        (d, width)
        for d in range(len(problem.devices))
        for width in sorted({w for task in problem.tasks for w, _ in times_at(task, d)})
    ]
    column = {place: index for index, place in enumerate(places)}
    times = np.full((len(problem.tasks), len(places)), np.inf)
    for i, task in enumerate(problem.tasks):
        for d, device in enumerate(problem.devices):
            for width, ns in times_at(task, d):
                times[i, column[d, width]] = device.least_ns(ns, width)
    widths = np.array([width for _, width in places], np.float64)
    return times, times * widths, np.array([d for d, _ in places], np.intp)


def _windows(
    problem: Problem, tables: BoundTables, works: Floats, devices: NDArray[np.intp]
) -> list[_Window]:
    """The most loaded windows, each at the price that says so, and the whole query."""
    lanes = np.array([device.lanes for device in problem.devices], np.float64)
    heads, tails = tables.heads_ns(), tables.tails_ns()
    best: list[_Window] = []
    for price in sorted({*prices_of(tables.works_ns)}):
        paid = np.array(price, np.float64)
        costs = works * np.where(np.isinf(works), 1.0, paid[devices] / (paid @ lanes))
        least = costs.min(axis=1)
        for head in _spread(heads):
            for tail in _spread(tails):
                inside = (heads >= head) & (tails >= tail)
                if inside.any():  # of an empty window nothing is known
                    load = float(least[inside].sum())
                    best.append(_Window(load, head + tail, inside, costs))
        whole = max(best, key=lambda window: window.load_ns)
        best.sort(key=lambda window: window.load_ns + window.margin_ns)
        best = [*(window for window in best[-_WINDOWS:] if window is not whole), whole]
    return best


def _spread(values: NDArray[np.int64]) -> Iterator[int]:
    """Some of the values, the least among them."""
    distinct = np.unique(values)
    yield from distinct[:: -(-len(distinct) // _QUANTILES)].tolist()


class _Paths:
    def __init__(self, problem: Problem) -> None:
        count = len(problem.devices)
        copies = {
            size: [
                [problem.copy_ns(source, target, size) for source in range(count)]
                for target in range(count)
            ]
            for size in {tensor.size_bytes for tensor in problem.tensors}
        }
        self._edges = [
            [
                (problem.tensors[index].producer, copies[problem.tensors[index].size_bytes])
                for index in indices
            ]
            for indices in problem.inputs_of
        ]

    def longest(
        self, weights: Sequence[Sequence[float]], inside: NDArray[np.bool_], share: float
    ) -> float:
        """The heaviest path of tasks inside, copies counted in part, by the best devices."""
        far: dict[int, list[float]] = {}
        for task in np.flatnonzero(inside).tolist():
            far[task] = [
                weight + self._latest(far, task, device, share)
                for device, weight in enumerate(weights[task])
            ]
        return max((min(row) for row in far.values()), default=0.0)

    def _latest(self, far: dict[int, list[float]], task: int, device: int, share: float) -> float:
        """When the last of its inputs is there, from those inside."""
        latest = 0.0
        for producer, copies in self._edges[task]:
            if producer in far:
                ways = zip(far[producer], copies[device], strict=True)
                latest = max(latest, min(made + share * ns for made, ns in ways))
        return latest
