"""Lookahead HEFT: a task goes where its readers, placed after it, end earliest.

References
----------
Bittencourt, Sakellariou, Madeira: DAG scheduling using a lookahead variant of the heterogeneous
earliest finish time algorithm, PDP 2010, section III: one step, all children, the maximum of their
ends.

Departures: those of ``list_schedule``; graph outputs return to the host. Readers that wait for
other tasks, too, are placed as if those had ended that are not scheduled yet, as the paper does.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.evaluator import compiled
from surplus.placement.list_schedule import list_scheduled
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class LookaheadParams:
    """It has no options."""


@register("lookahead", LookaheadParams)
class Lookahead:
    """HEFT's order; devices by where the readers end."""

    def __init__(self, params: LookaheadParams | None = None) -> None:
        self._params = params or LookaheadParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        asked = compiled(problem)
        ranks, home_ns = asked.mean_upward_ranks(), asked.ways_home_ns()
        return list_scheduled(problem, ranks, home_ns, "lookahead", "readers")
