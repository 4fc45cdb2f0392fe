"""``anneal``: simulated annealing over devices, widths and order, from the plan of another policy.

References
----------
Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 220, 1983: a change that
makes the plan longer is kept the more seldom the longer it is and the later it comes.
Shaw: Using constraint programming and local search methods to solve vehicle routing problems, CP
1998: now and then a window of tasks is freed and placed anew, each where it ends first.

What is annealed is what a runtime is handed: devices, widths, ranks. Each change is judged by the
simulated query that they come to, natively and only as far as it changes (core/README.md), so all
that a problem can have counts. What memories do not hold is not kept. Under a limit of iterations
and in one thread, which is the default, it is a pure function as any policy; a limit of time, or
several threads that tell each other what they found, make it depend on the machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

from surplus.placement._evaluator import Annealing
from surplus.placement.evaluator import (
    arrays,
    compiled,
    makespan_ns,
    placement_at,
)
from surplus.placement.fit_memory import fit
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy, register
from surplus.placement.problem import Problem
from surplus.placement.room import constants_of, fits

_NAME = "anneal"
_ITERATIONS = 2_000
_LOOK_NS = 50_000_000
"""How often somebody is asked whether to stop, and told how far it has come."""


@dataclass(frozen=True)
class AnnealParams:
    """Options of ``anneal``.

    Parameters
    ----------
    time_s : float
        Time limit of the annealing in seconds, that of ``start`` not included; 0 is none.
    iterations : int or None
        Most changes that each thread tries, >= 1. None: 2,000, or no limit if there is one of time.
    seed : int
        Of what is tried, >= 0.
    threads : int
        Chains that run at once and go on from the best of each other, never more than this process
        has cores; 0 is one for each core.
    start : str
        The policy whose plan is begun with.
    """

    time_s: float = 0.0
    iterations: int | None = None
    seed: int = 0
    threads: int = 1
    start: str = "best"

    def __post_init__(self) -> None:
        if not 0 <= self.time_s < math.inf:
            raise ValueError(f"time_s must be >= 0 and finite, got {self.time_s}")
        if self.iterations is not None and not 1 <= self.iterations < 1 << 63:
            raise ValueError(f"iterations must be >= 1, got {self.iterations}")
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"seed must be from 0 to below 2^64, got {self.seed}")
        if self.threads < 0:
            raise ValueError(f"threads must be >= 0, got {self.threads}")
        if self.start == _NAME:
            raise ValueError(f"start must be another policy than {_NAME!r}")
        make_policy(self.start)


@register(_NAME, AnnealParams)
class Anneal:
    """Anneals the plan of another policy."""

    def __init__(self, params: AnnealParams | None = None) -> None:
        self._params = params or AnnealParams()

    def place(self, problem: Problem) -> Placement:
        """Ask the other policy, and go on from there."""
        return improved(problem, make_policy(self._params.start).place(problem), self._params)


def never() -> bool:
    """Stop for nothing but a limit."""
    return False


def unseen(elapsed_s: float, best_ns: int) -> None:
    """Show nothing."""


def improved(
    problem: Problem,
    placement: Placement,
    params: AnnealParams | None = None,
    *,
    target_ns: int = 0,
    stop: Callable[[], bool] = never,
    report: Callable[[float, int], None] = unseen,
) -> Placement:
    """Anneal from a placement; what comes back is never longer, if that one fits.

    Parameters
    ----------
    placement : Placement
        What to begin with; if memories do not hold it, it is made to fit before.
    params : AnnealParams
        ``start`` is not asked.
    target_ns : int
        A plan that is no longer than this ends it: a lower bound, for instance.
    stop : callable
        Asked some times a second whether to end; what it raises ends it, too.
    report : callable
        Told seconds and the best makespan as often.

    Raises
    ------
    ValueError
        If the placement does not fit the problem.
    InfeasibleError
        If the placement does not fit into the memories, and cannot be made to.
    """
    placement.check(problem)
    if not fits(problem, placement):
        placement = fit(problem, placement).placement
    annealing = _begun(problem, placement, params or AnnealParams(), target_ns)
    try:
        _wait(annealing, stop, report)
    finally:
        annealing.cancel()
    found = placement_at(problem, *annealing.best(), _NAME)
    assert makespan_ns(problem, found) == annealing.best_ns, "a replay went astray"
    return found


def _begun(
    problem: Problem, placement: Placement, params: AnnealParams, target_ns: int
) -> Annealing:
    unlimited = params.iterations is None and params.time_s > 0
    cores = len(os.sched_getaffinity(0))
    return Annealing(
        compiled(problem),
        *arrays(problem, placement),
        constants_of(problem),
        seed=params.seed,
        evaluations=0 if unlimited else params.iterations or _ITERATIONS,
        time_ns=round(params.time_s * 1e9),
        threads=min(params.threads or cores, cores),
        target_ns=target_ns,
    )


def _wait(
    annealing: Annealing, stop: Callable[[], bool], report: Callable[[float, int], None]
) -> None:
    elapsed_s = 0.0
    while not annealing.wait(_LOOK_NS):
        elapsed_s += _LOOK_NS / 1e9
        report(elapsed_s, annealing.best_ns)
        if stop():
            annealing.cancel()
