"""Better plans before the solver is asked: by the annealing policy where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from surplus import placement
from surplus.milp.deadline import Deadline
from surplus.milp.descent import descended
from surplus.placement import Placement, Problem
from surplus.placement.policy import make_policy, policy_names, policy_options

ANNEAL = "anneal"

_TIME = ("time_limit_s", "time_s")
"""What the policy may call its time limit; without one it is not asked, but ``descended``."""

_LEAST_S = 0.05


@dataclass(frozen=True)
class Annealing:
    """How it is asked.

    Parameters
    ----------
    deadline : Deadline
        When it ends.
    threads : int
        How many it may use, >= 1, if the policy lets choose.
    seed : int
        Another one goes another way, if the policy takes one.
    """

    deadline: Deadline
    threads: int
    seed: int


def annealed(
    problem: Problem, start: Placement, devices: Sequence[Sequence[int]], params: Annealing
) -> Placement | None:
    """What a search makes of a plan until a deadline; None if there is no time for any.

    Parameters
    ----------
    start : Placement
        Where it begins, if the policy takes one.
    devices : sequence of sequence of int
        Those that each task may use in plans of interest; the policy need not keep to them.
    """
    deadline = params.deadline
    if deadline.left_s < _LEAST_S:
        return None
    options = policy_options(ANNEAL) if ANNEAL in policy_names() else ()
    limit = next((name for name in _TIME if name in options), None)
    if limit is None:
        return descended(problem, start, devices, deadline, params.seed)
    wanted: dict[str, Any] = {
        limit: deadline.left_s,
        "threads": params.threads,
        "seed": params.seed,
        "start": start,
    }
    policy = make_policy(ANNEAL, **{k: v for k, v in wanted.items() if k in options})
    with suppress(placement.InfeasibleError):
        return policy.place(problem)
    return None
