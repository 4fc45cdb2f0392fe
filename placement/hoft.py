"""HOFT: HEFT for a CPU and a GPU, by how early each task could end on either.

References
----------
McSweeney, Walton, Zounon: An efficient new static scheduling heuristic for accelerated
architectures, ICCS 2020, section 4.

Departures: those of ``list_schedule``; any number of devices, each a type of its own: a task goes
where it ends first, unless it is faster elsewhere and its end there, together with what its readers
then need, is no later; graph outputs return to the host, which counts as a reader; times of 0 count
as 1 ns in ratios.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.evaluator import compiled
from surplus.placement.list_schedule import list_scheduled
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class HOFTParams:
    """HOFT has no options."""


@register("hoft", HOFTParams)
class HOFT:
    """Tasks by the sum of the ratios of their optimistic finish times on the way to the end."""

    def __init__(self, params: HOFTParams | None = None) -> None:
        self._params = params or HOFTParams()

    def place(self, problem: Problem) -> Placement:
        """Schedule task by task; the planned starts become the order."""
        _, ranks, readers_ns = compiled(problem).hoft_tables()
        return list_scheduled(problem, ranks, readers_ns, "hoft", "fastest")
