"""Makes any policy honour memory limits.

A placement that a memory does not hold is repaired (``fit_memory``); then the policy is asked
once more about a problem in which what had to leave can run only elsewhere, so that it places
what hangs on these tasks anew. The shorter of both by simulation is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from surplus.placement.evaluator import makespan_ns
from surplus.placement.fit_memory import Banned, InfeasibleError, fit
from surplus.placement.ordering import planned
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, Task
from surplus.placement.room import fits


class _Placer(Protocol):
    def place(self, problem: Problem) -> Placement: ...


class Fitting:
    """A policy whose placements the memories hold, by simulation of one query.

    Parameters
    ----------
    policy : Policy
        Who decides as long as there is room.
    """

    def __init__(self, policy: _Placer) -> None:
        self._policy = policy

    def place(self, problem: Problem) -> Placement:
        """Place, and move what must move.

        Raises
        ------
        InfeasibleError
            If no placement was found that fits.
        """
        first = self._policy.place(problem)
        if fits(problem, first):
            return first
        candidates = list(self._candidates(problem, first))
        return min(candidates, key=lambda placed: makespan_ns(problem, placed))

    def _candidates(self, problem: Problem, first: Placement) -> Iterator[Placement]:
        repaired = fit(problem, first)
        yield repaired.placement
        ordered = planned(problem, repaired.placement.device_of, first.policy)
        if fits(problem, ordered):
            yield ordered
        rest = restricted(problem, repaired.banned)
        try:
            again = fit(rest, self._policy.place(rest))
        except InfeasibleError:
            return
        yield again.placement


def restricted(problem: Problem, banned: Banned) -> Problem:
    """The problem without the ways back: what left a memory cannot run there."""
    tasks = list(problem.tasks)
    for index in {task for task, _ in banned}:
        left = {memory for task, memory in banned if task == index}
        tasks[index] = _without(problem, tasks[index], left)
    return replace(problem, tasks=tuple(tasks))


def _without(problem: Problem, task: Task, memories: set[str]) -> Task:
    times = tuple(
        None if problem.devices[d].memory in memories else service_ns
        for d, service_ns in enumerate(task.service_ns)
    )
    default = task.default_device
    if times[default] is None:
        default = min((t, d) for d, t in enumerate(times) if t is not None)[1]
    return replace(task, service_ns=times, default_device=default)
