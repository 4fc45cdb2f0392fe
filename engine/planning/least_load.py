"""Places for the least load of the busiest resource: by local search, or a solver if that gains.

Clusters of a graph are few enough for a solver to prove the least load in a moment. It is only
asked where the local search's placement is not known to be nearly as good as any.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from surplus.placement.balance import Balance
from surplus.placement.bounds import ContradictionError
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.occupancy import busiest_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

_log = logging.getLogger(__name__)

_WORTH = 0.05
"""Share of the load that a solver must be able to save, by the bound: less is not shown to be
better when plans are compared (throughput_search.py)."""


@dataclass(frozen=True)
class LeastLoad:
    """Maps a problem to the placement of the least load that is found, as a policy does.

    Parameters
    ----------
    time_s : float
        For the solver, > 0. It begins with a process of its own, which counts.
    """

    time_s: float

    def __call__(self, problem: Problem) -> Placement:
        """``balance``'s placement, or the solver's if its busiest resource has less to do."""
        found = Balance().place(problem)
        load_ns = busiest_of(problem, found)[1]
        if (1 - _WORTH) * load_ns <= load_bound_ns(problem):
            return found
        solved = self._solved(problem, found)
        if solved is None or busiest_of(problem, solved)[1] >= load_ns:
            return found
        return solved

    def _solved(self, problem: Problem, known: Placement) -> Placement | None:
        from surplus.milp import SolveParams, SolverUnavailableError  # few loads ask a solver
        from surplus.milp.throughput.search import solve_throughput

        params = SolveParams(time_limit_s=self.time_s, warm_start=known)
        try:
            return solve_throughput(problem, params).placement
        except (SolverUnavailableError, InfeasibleError) as error:
            _log.debug("no solver places %s: %s", problem.name, error)
        except ContradictionError as error:
            _log.warning("no solver places %s: %s", problem.name, error)
        return None
