"""HEFT: tasks by upward rank, each where it ends earliest, with lanes and transfers.

References
----------
Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous
computing, IEEE TPDS 13(3), 2002, section 4.

Departures: those of ``list_schedule``; and graph outputs return to the host, which counts where a
task's end on several devices is compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.evaluator import compiled
from surplus.placement.list_schedule import list_scheduled
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class HEFTParams:
    """HEFT has no options."""


@register("heft", HEFTParams)
class HEFT:
    """Earliest finish time in order of upward rank."""

    def __init__(self, params: HEFTParams | None = None) -> None:
        self._params = params or HEFTParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        asked = compiled(problem)
        return list_scheduled(problem, asked.mean_upward_ranks(), asked.ways_home_ns(), "heft")
