"""``best``: the shortest by simulation of what several policies propose.

Comm+SD, its threshold swept, is strong where copies decide; HEFT, which knows the load of each
lane, where width does. Neither wins everywhere, and asking both takes milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from surplus.placement.candidates import check_proposers, proposals
from surplus.placement.evaluator import makespan_ns
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem

_NAME = "best"


@dataclass(frozen=True)
class BestParams:
    """Options of ``best``; ties go to the policy that is named first."""

    policies: tuple[str, ...] = ("comm_sd_best", "heft", "single")

    def __post_init__(self) -> None:
        check_proposers(self.policies, _NAME)


@register(_NAME, BestParams)
class Best:
    """Asks each policy, with its own defaults."""

    def __init__(self, params: BestParams | None = None) -> None:
        self._params = params or BestParams()

    def place(self, problem: Problem) -> Placement:
        """Place with each policy and simulate; a policy that finds nothing that fits drops out.

        Raises
        ------
        InfeasibleError
            The first policy's, if all fail.
        """
        found = proposals(problem, self._params.policies)
        best = min(found, key=lambda placed: makespan_ns(problem, placed))
        return replace(best, policy=_NAME)
