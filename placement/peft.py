"""PEFT: like HEFT, but with an eye on what each device leaves to do (optimistic cost table).

References
----------
Arabnejad, Barbosa: List scheduling algorithm for heterogeneous systems by an optimistic cost table,
IEEE TPDS 25(3), 2014, sections 4 and 5.

Departures: those of ``list_schedule``; a copy between two devices takes its own time, not the mean
of all pairs; outputs of the graph return to the host, which is part of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surplus.placement.evaluator import Numbers, compiled
from surplus.placement.list_schedule import Reals, list_scheduled
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class PEFTParams:
    """PEFT has no options."""


@register("peft", PEFTParams)
class PEFT:
    """Least predicted end in order of the mean optimistic cost."""

    def __init__(self, params: PEFTParams | None = None) -> None:
        self._params = params or PEFTParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        costs_ns = compiled(problem).optimistic_costs_ns()
        return list_scheduled(problem, mean_costs(costs_ns), costs_ns, "peft")


def mean_costs(costs_ns: Numbers) -> Reals:
    """Equation 4: of each task over the devices that can run it.

    Parameters
    ----------
    costs_ns : array of int64, shape (tasks, devices)
        Below 0 where a task cannot run.
    """
    can_run = costs_ns >= 0
    sums: Reals = np.where(can_run, costs_ns, 0).sum(axis=1) / can_run.sum(axis=1)
    return sums
