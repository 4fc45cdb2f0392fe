"""What the optimiser answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from surplus.milp.params import Progress
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.stored_schedule import schedule_rows
from surplus.placement.timeline import Timeline


class Status(StrEnum):
    """How good the answer is known to be."""

    OPTIMAL = "optimal"
    """The makespan equals a bound of the whole problem, within the requested gap or the solver's
    tolerance; never for a solver's word about its model alone."""
    FEASIBLE = "feasible"
    """A valid plan; there may be a shorter one, but none below the bound."""
    BOUND_ONLY = "bound_only"
    """No plan was found."""
    INFEASIBLE = "infeasible"
    """There is no plan: constants and data fit into no combination of the memories."""


@dataclass(frozen=True)
class Result:
    """A plan and how far from the optimum it can be.

    Parameters
    ----------
    status : Status
        How good it is known to be.
    makespan_ns : int or None
        Length of ``timeline``: exact, with copies queueing on their links. None without a plan.
    bound_ns : int
        No plan is shorter; computed without knowledge of ``makespan_ns``, never capped by it.
    gap : float or None
        ``(makespan_ns - bound_ns) / makespan_ns``.
    runtime_s : float
        Wall-clock time of the whole search.
    placement : Placement or None
        Devices, the order of ``timeline``'s starts as priorities, and the holds with which a
        runtime keeps to it.
    timeline : Timeline or None
        The plan. It may leave a lane idle on purpose, which only some optima need.
    dispatched_ns : int or None
        Simulated makespan of ``placement`` in a runtime that does not know holds, whose free lanes
        never wait for a task that is not ready. Equals ``makespan_ns`` unless the plan idles on
        purpose.
    held_ns : int or None
        Simulated makespan of ``placement`` with its holds, which is what the core does. Equals
        ``makespan_ns``, unless a second did not do to find them, or the memories do not hold what
        starts earlier with them.
    solver : str
        Which solver was asked.
    message : str
        What happened, in a few words.
    left_out : tuple of str
        What of the problem the solver's model does not know, although ``makespan_ns`` counts it.
        ``bound_ns`` holds with it. So a plan that meets the bound is optimal all the same, but
        some gaps cannot close.
    history : tuple of Progress
        Each better plan and bound, oldest first.
    """

    status: Status
    makespan_ns: int | None
    bound_ns: int
    gap: float | None
    runtime_s: float
    placement: Placement | None
    timeline: Timeline | None
    dispatched_ns: int | None
    solver: str
    message: str
    left_out: tuple[str, ...] = ()
    history: tuple[Progress, ...] = ()
    held_ns: int | None = None

    def to_json(self, problem: Problem) -> str:
        """Serialise with the names of tasks and devices of ``problem``."""
        return json.dumps(
            {
                "format": "surplus-optimum/3",
                "problem": problem.name,
                "status": str(self.status),
                "makespan_ns": self.makespan_ns,
                "bound_ns": self.bound_ns,
                "gap": self.gap,
                "runtime_s": round(self.runtime_s, 3),
                "dispatched_ns": self.dispatched_ns,
                "held_ns": self.held_ns,
                "solver": self.solver,
                "message": self.message,
                "left_out": list(self.left_out),
                "progress": [
                    {
                        "elapsed_s": round(step.elapsed_s, 3),
                        "makespan_ns": step.makespan_ns,
                        "bound_ns": step.bound_ns,
                    }
                    for step in self.history
                ],
                **self._schedule(problem),
            },
            indent=1,
        )

    def _schedule(self, problem: Problem) -> dict[str, Any]:
        if self.placement is None or self.timeline is None:
            return {"tasks": [], "copies": [], "holds": [], "copy_holds": []}
        return schedule_rows(problem, self.placement, self.timeline)
