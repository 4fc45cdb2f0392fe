"""GETF: each task may go to one group of like devices, and whoever can start first does.

References
----------
Su, Ren, Vardi, Wierman, He: Communication-aware scheduling of precedence-constrained tasks,
arXiv:2004.14639, section 3 (generalised earliest time first).

Departures, each of which costs its guarantee:

- the paper groups related machines by speed; here tasks differ in which device is fast, so a group
  is what takes equally long for every task, in one memory or in several;
- it assigns groups by a linear programme over loads and paths, rounded; here a group's time has a
  price that rises with its load, and a task goes to the group that is cheapest for it. Paths and
  copies count in the second step alone;
- lanes are machines; a wide task starts when enough of them have run out of work;
- submission is left to the runtime, which follows the order that was planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from surplus.placement.evaluator import compiled
from surplus.placement.occupancy import effective_lanes
from surplus.placement.ordering import order_of
from surplus.placement.overflow import HOST
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem

Group = tuple[int, ...]
"""Devices that take equally long for every task."""


@dataclass(frozen=True)
class GETFParams:
    """Options of ``getf``: how often prices are corrected, >= 1."""

    rounds: int = 20

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds must be >= 1, got {self.rounds}")


@register("getf", GETFParams)
class GETF:
    """Earliest start within the group of each task."""

    def __init__(self, params: GETFParams | None = None) -> None:
        self._params = params or GETFParams()

    def place(self, problem: Problem) -> Placement:
        """Assign groups, then start tasks one by one; the starts become the order."""
        groups = assigned_groups(problem, self._params.rounds)
        return _EarliestStart(problem, groups).placement()


def assigned_groups(problem: Problem, rounds: int) -> list[Group]:
    """The group of each task: of the assignments that prices lead to, the one most even in load."""
    groups = like_devices(problem)
    prices = [1.0] * len(groups)
    least, best = float("inf"), [groups[0]] * len(problem.tasks)
    for turn in range(rounds):
        chosen = [_cheapest(problem, groups, prices, task) for task in range(len(problem.tasks))]
        loads = _loads(problem, groups, chosen)
        if max(loads) < least:
            least, best = max(loads), [groups[group] for group in chosen]
        mean = sum(loads) / len(loads) or 1.0
        step = 1 / (1 + turn / 4)
        shares = [min(2.0, max(0.5, load / mean)) for load in loads]
        prices = [price * share**step for price, share in zip(prices, shares, strict=True)]
    return best


def like_devices(problem: Problem) -> list[Group]:
    """Devices by what they take for each task."""
    found: dict[tuple[int | None, ...], list[int]] = {}
    for device in range(len(problem.devices)):
        times = tuple(task.service_ns[device] for task in problem.tasks)
        found.setdefault(times, []).append(device)
    return [tuple(group) for group in found.values()]


def _cheapest(problem: Problem, groups: list[Group], prices: list[float], task: int) -> int:
    times = problem.tasks[task].service_ns
    return min(
        (time_ns * prices[index], index)
        for index, group in enumerate(groups)
        if (time_ns := times[group[0]]) is not None
    )[1]


def _loads(problem: Problem, groups: list[Group], chosen: list[int]) -> list[float]:
    """Lane-time of each group over its lanes, ns."""
    loads = [0.0] * len(groups)
    for task, index in zip(problem.tasks, chosen, strict=True):
        device = groups[index][0]
        loads[index] += (task.service_ns[device] or 0) * task.width(device)
    lanes = [sum(effective_lanes(problem.devices[d]) for d in group) for group in groups]
    return [load / count for load, count in zip(loads, lanes, strict=True)]


class _EarliestStart:
    """ETF: of all tasks that are ready and the devices of their groups the earliest start."""

    def __init__(self, problem: Problem, groups: list[Group]) -> None:
        self._problem = problem
        self._groups = groups
        self._ranks = compiled(problem).mean_upward_ranks().tolist()
        self._free_ns = [[0] * device.lanes for device in problem.devices]
        self._device_of = [-1] * len(problem.tasks)
        self._starts_ns = [0] * len(problem.tasks)
        self._waiting: list[tuple[int, float, int, int]] = []

    def placement(self) -> Placement:
        """Start them all; ties go to the higher upward rank."""
        missing = [len(before) for before in self._problem.predecessors]
        for task, count in enumerate(missing):
            if count == 0:
                self._offer(task)
        while self._waiting:
            start_ns, rank, task, device = heappop(self._waiting)
            if self._device_of[task] >= 0:
                continue
            now_ns = max(start_ns, self._lanes_ns(task, device))
            if now_ns > start_ns:
                heappush(self._waiting, (now_ns, rank, task, device))
                continue
            self._start(task, device, start_ns)
            for reader in self._problem.successors[task]:
                missing[reader] -= 1
                if missing[reader] == 0:
                    self._offer(reader)
        order = order_of(np.array(self._starts_ns, np.int64))
        return Placement(tuple(self._device_of), tuple(order.tolist()), "getf")

    def _offer(self, task: int) -> None:
        for device in self._groups[task]:
            start_ns = max(self._inputs_ns(task, device), self._lanes_ns(task, device))
            heappush(self._waiting, (start_ns, -self._ranks[task], task, device))

    def _lanes_ns(self, task: int, device: int) -> int:
        """When enough lanes have run out of work; the lists are heaps."""
        width = self._problem.tasks[task].width(device)
        free_ns = self._free_ns[device]
        return free_ns[0] if width == 1 else sorted(free_ns)[width - 1]

    def _inputs_ns(self, task: int, device: int) -> int:
        ready_ns = 0
        for index in self._problem.inputs_of[task]:
            tensor = self._problem.tensors[index]
            made_on, made_ns = HOST, 0
            if tensor.producer >= 0:
                made_on = self._device_of[tensor.producer]
                made_ns = self._end_ns(tensor.producer)
            copy_ns = self._problem.copy_ns(made_on, device, tensor.size_bytes)
            ready_ns = max(ready_ns, made_ns + copy_ns)
        return ready_ns

    def _end_ns(self, task: int) -> int:
        service_ns = self._problem.tasks[task].service_ns[self._device_of[task]] or 0
        return self._starts_ns[task] + service_ns

    def _start(self, task: int, device: int, start_ns: int) -> None:
        self._device_of[task], self._starts_ns[task] = device, start_ns
        free_ns = self._free_ns[device]
        for _ in range(self._problem.tasks[task].width(device)):
            heappop(free_ns)
        free_ns += [self._end_ns(task)] * self._problem.tasks[task].width(device)
        heapify(free_ns)
