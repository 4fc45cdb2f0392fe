"""Hill climbing to the problem on which a policy is furthest behind another, or the optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from surplus.placement.adversary.exhaustive import (
    TASKS_MOST,
    best_of_all_ns,
    best_of_placements_ns,
)
from surplus.placement.adversary.genome import Genome, problem_of_genome, random_genome
from surplus.placement.adversary.mutation import mutated
from surplus.placement.evaluator import makespan_ns
from surplus.placement.policy import make_policy
from surplus.placement.problem import Problem

OPTIMUM = "optimum"
"""What a policy can be compared with beside other policies."""

Measure = Callable[[Problem], int]
"""Nanoseconds of the schedule that somebody finds."""


@dataclass(frozen=True)
class SearchParams:
    """How long to search for what.

    Parameters
    ----------
    seed : int
        Of all that is random.
    starts, steps : int
        Random problems to start from, and changes that each start tries, >= 1.
    least_tasks, most_tasks : int
        Tasks of a problem, 1 to 8.
    """

    seed: int = 0
    starts: int = 8
    steps: int = 400
    least_tasks: int = 5
    most_tasks: int = 8

    def __post_init__(self) -> None:
        if min(self.starts, self.steps) < 1:
            raise ValueError(f"starts and steps must be >= 1, got {self.starts} and {self.steps}")
        if not 1 <= self.least_tasks <= self.most_tasks <= TASKS_MOST:
            raise ValueError(
                f"tasks must be 1 to {TASKS_MOST}, got {self.least_tasks} to {self.most_tasks}"
            )


@dataclass(frozen=True)
class WorstCase:
    """What was found.

    Parameters
    ----------
    problem : Problem
        With what it shows in its notes.
    target_ns, against_ns : int
        Makespans of the two; the optimum is exact.
    """

    problem: Problem
    target_ns: int
    against_ns: int

    @property
    def ratio(self) -> float:
        """How many times as long the target takes."""
        return self.target_ns / self.against_ns


def worst_case(target: str, against: str, params: SearchParams | None = None) -> WorstCase:
    """The worst problem found; the same for the same options, if the policies are so.

    Parameters
    ----------
    target : str
        The policy that is to do badly.
    against : str
        A policy, or ``optimum``. While climbing the optimum is that of a few orders for each
        placement, which is an upper bound: what is found is at least as bad as it seemed.

    Raises
    ------
    ValueError
        If a policy is unknown.
    """
    params = params or SearchParams()
    slow, quick = measure_of(target), _climbing(against)
    random = Random(params.seed)
    name = f"{target}-against-{against}-{params.seed}"
    found: tuple[float, Genome] | None = None
    for _ in range(params.starts):
        climbed = climb(random, params, lambda problem: slow(problem) / quick(problem))
        if found is None or climbed[0] > found[0]:
            found = climbed
    assert found is not None
    problem = problem_of_genome(found[1], name)
    worst = WorstCase(problem, slow(problem), measure_of(against)(problem))
    notes = {"found": f"{target} takes {worst.ratio:.4g} times as long as {against}"}
    return replace(worst, problem=replace(problem, notes=notes))


def measure_of(name: str) -> Measure:
    """What a policy's plan comes to by simulation; of ``optimum`` the shortest of all.

    Raises
    ------
    ValueError
        If the policy is unknown.
    """
    if name == OPTIMUM:
        return best_of_all_ns
    policy = make_policy(name)
    return lambda problem: makespan_ns(problem, policy.place(problem))


def _climbing(against: str) -> Measure:
    return best_of_placements_ns if against == OPTIMUM else measure_of(against)


def climb(
    random: Random, params: SearchParams, ratio: Callable[[Problem], float]
) -> tuple[float, Genome]:
    """From a random genome uphill, along a ridge, too; the last one, with its ratio before it."""
    genome = random_genome(random, random.randint(params.least_tasks, params.most_tasks))
    best = ratio(problem_of_genome(genome, ""))
    for _ in range(params.steps):
        changed = mutated(random, genome, params.least_tasks, params.most_tasks)
        found = ratio(problem_of_genome(changed, ""))
        if found >= best:
            best, genome = found, changed
    return best, genome
