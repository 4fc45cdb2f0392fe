"""Better plans before the solver is asked."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from surplus.milp.deadline import Deadline
from surplus.placement import InfeasibleError, Placement, Problem
from surplus.placement.anneal import AnnealParams, improved

_LEAST_S = 0.05


@dataclass(frozen=True)
class Annealing:
    """How a plan is annealed.

    Parameters
    ----------
    deadline : Deadline
        When it ends.
    threads : int
        How many it may use, >= 1.
    seed : int
        Another one goes another way.
    """

    deadline: Deadline
    threads: int
    seed: int


def annealed(problem: Problem, start: Placement, params: Annealing) -> Placement | None:
    """What a search makes of a plan until a deadline; None if there is no time for any."""
    if params.deadline.left_s < _LEAST_S:
        return None
    wanted = AnnealParams(params.deadline.left_s, seed=params.seed, threads=params.threads)
    with suppress(InfeasibleError):
        return improved(problem, start, wanted)
    return None
