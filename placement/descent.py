"""``descent``: from the best of some policies' plans on, whatever change of devices shortens it.

A change is that of one task, or of a chain of tasks of which each is the only one to follow the one
before (a branch of a detector), to another device or another width. Each is tried in turn by the
native evaluator and the first that helps is kept: to look for the best one of thousands before each
step would cost as many evaluations a step. Where a query falls into parts that run one after
another, one evaluation tries a change in each of them, and parts of several plans are put together
(placement/core).
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.evaluator import arrays, compiled, placement_at
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy, register
from surplus.placement.problem import Problem

_NAME = "descent"
_TASKS = 2_000_000
"""So many tasks are simulated at most, some 0.5 s, whatever the limit on evaluations."""


@dataclass(frozen=True)
class DescentParams:
    """Options of ``descent``.

    Parameters
    ----------
    evaluations : int
        Most plans to evaluate, >= 0; fewer where tasks are more than a thousand.
    begin : tuple of str
        Policies whose plans to begin with.
    """

    evaluations: int = 2_000
    begin: tuple[str, ...] = ("heft", "peft", "single")

    def __post_init__(self) -> None:
        if self.evaluations < 0:
            raise ValueError(f"evaluations must be >= 0, got {self.evaluations}")
        if not isinstance(self.begin, tuple) or not self.begin or _NAME in self.begin:
            raise ValueError(f"begin must be a tuple of other policies, got {self.begin!r}")
        for name in self.begin:
            make_policy(name)


@register(_NAME, DescentParams)
class Descent:
    """First improvement, by devices of tasks and chains."""

    def __init__(self, params: DescentParams | None = None) -> None:
        self._params = params or DescentParams()

    def place(self, problem: Problem) -> Placement:
        """Begin, and improve until nothing helps or the evaluations are used up."""
        begin = (make_policy(name).place(problem) for name in self._params.begin)
        plans = [arrays(problem, plan) for plan in begin]
        most = _TASKS // max(1, len(problem.tasks))
        evaluations = min(self._params.evaluations, most)
        places, priority, _ = compiled(problem).search(plans, evaluations)
        return placement_at(problem, places.tolist(), priority.tolist(), _NAME)
