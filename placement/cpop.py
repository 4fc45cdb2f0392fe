"""CPOP: all tasks of the critical path on one device, the others where they end earliest.

References
----------
Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous
computing, IEEE TPDS 13(3), 2002, section 4.2 (critical path on a processor).

Departures: those of ``list_schedule``, so the path gets a device with all of its lanes; where no
device can run the whole path, that which can run most of it, and the others go where they end
earliest; graph outputs return to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surplus.placement.evaluator import compiled
from surplus.placement.list_schedule import Reals, list_scheduled
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class CPOPParams:
    """CPOP has no options."""


@register("cpop", CPOPParams)
class CPOP:
    """Tasks by the length of the longest path through them."""

    def __init__(self, params: CPOPParams | None = None) -> None:
        self._params = params or CPOPParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        asked = compiled(problem)
        lengths = asked.mean_upward_ranks() + mean_downward_ranks(problem)
        allowed_ns = asked.ways_home_ns()
        path = critical_path(problem, lengths)
        device = path_device(problem, path)
        for task in path:
            if allowed_ns[task, device] >= 0:
                allowed_ns[task, np.arange(len(problem.devices)) != device] = -1
        return list_scheduled(problem, lengths, allowed_ns, "cpop")


def mean_downward_ranks(problem: Problem) -> Reals:
    """Way from the beginning of the query in mean service and mean copy times (equation 8), ns."""
    devices = range(len(problem.devices))
    pairs = [(a, b) for a in devices for b in devices]
    ranks = np.zeros(len(problem.tasks))
    for task, spec in enumerate(problem.tasks):
        known = [time_ns for time_ns in spec.service_ns if time_ns is not None]
        end = ranks[task] + sum(known) / len(known)
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            copies = [problem.copy_ns(a, b, tensor.size_bytes) for a, b in pairs]
            there = end + sum(copies) / len(pairs)
            for reader in tensor.consumers:
                ranks[reader] = max(ranks[reader], there)
    return ranks


def critical_path(problem: Problem, lengths: Reals) -> list[int]:
    """From the first task with the longest path on, the reader with the longest; ties by index."""
    path: list[int] = []
    nexts: Sequence[int] = [t for t, before in enumerate(problem.predecessors) if not before]
    while nexts:
        path.append(max(nexts, key=lambda task: (lengths[task], -task)))
        nexts = problem.successors[path[-1]]
    return path


def path_device(problem: Problem, path: Sequence[int]) -> int:
    """Which can run most of the path, and of those the fastest; ties by index."""

    def cost(device: int) -> tuple[int, int]:
        times = [problem.tasks[task].service_ns[device] for task in path]
        return times.count(None), sum(time_ns or 0 for time_ns in times)

    return min(range(len(problem.devices)), key=cost)
