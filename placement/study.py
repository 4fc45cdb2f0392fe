"""Every policy on the same problems: how far above the bound, how often best, in which time.

References
----------
Dolan, Moré: Benchmarking optimization software with performance profiles, Mathematical Programming
91(2), 2002: for each factor, on which share of the problems a policy is within it of the best one.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter_ns
from typing import Any

from surplus.placement.bounds import check_bound, lower_bounds
from surplus.placement.evaluator import compiled, makespan_ns
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.policy import make_policy
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class StudyProblem:
    """A problem of a study.

    Parameters
    ----------
    name : str
        Unique within the study.
    family : str
        What it is counted with.
    """

    name: str
    family: str
    problem: Problem


@dataclass(frozen=True)
class StudyRow:
    """One policy on one problem.

    Parameters
    ----------
    makespan_ns, bound_ns : int
        By simulation; no plan is shorter than the bound.
    took_ns : int
        To place, the problem once read.
    """

    problem: str
    family: str
    tasks: int
    policy: str
    makespan_ns: int
    bound_ns: int
    took_ns: int

    @property
    def over_bound(self) -> float:
        """Makespan over the bound; 1 where both are nothing."""
        return self.makespan_ns / self.bound_ns if self.bound_ns else 1.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def study(
    instances: Iterable[StudyProblem],
    policies: Sequence[str],
    done: Callable[[int], None] = lambda count: None,
) -> list[StudyRow]:
    """Place each problem with each policy; one that finds nothing that fits has no row of it.

    Parameters
    ----------
    done : callable
        Told how many problems are.

    Raises
    ------
    ContradictionError
        If a makespan is below the bound.
    """
    rows: list[StudyRow] = []
    for count, instance in enumerate(instances, 1):
        compiled(instance.problem)  # once for all, and of no policy's time
        bound_ns = lower_bounds(instance.problem).makespan_ns
        rows += [row for name in policies if (row := _row(instance, name, bound_ns)) is not None]
        done(count)
    return rows


def _row(instance: StudyProblem, policy: str, bound_ns: int) -> StudyRow | None:
    problem, began_ns = instance.problem, perf_counter_ns()
    try:
        placement = make_policy(policy).place(problem)
    except InfeasibleError:
        return None
    took_ns = perf_counter_ns() - began_ns
    found_ns = makespan_ns(problem, placement)
    check_bound(bound_ns, found_ns, f"{instance.name}, {policy}")
    count = len(problem.tasks)
    return StudyRow(instance.name, instance.family, count, policy, found_ns, bound_ns, took_ns)


def summary(rows: Sequence[StudyRow]) -> list[dict[str, Any]]:
    """A line a policy: over the bound (median, worst), how often nobody was better, its time."""
    best = _best_ns(rows)
    return [
        {
            "policy": policy,
            "problems": len(own),
            "over bound, median": statistics.median(row.over_bound for row in own),
            "worst": max(row.over_bound for row in own),
            "of": max(own, key=lambda row: row.over_bound).problem,
            "best, share": sum(row.makespan_ns == best[row.problem] for row in own) / len(best),
            "ms, median": statistics.median(row.took_ns for row in own) / 1e6,
        }
        for policy, own in _by_policy(rows).items()
    ]


def performance_profiles(
    rows: Sequence[StudyRow],
) -> dict[str, tuple[tuple[float, float], ...]]:
    """By policy: steps of (factor, share of the problems that it places within it of the best)."""
    best = _best_ns(rows)
    profiles = {}
    for policy, own in _by_policy(rows).items():
        factors = sorted(row.makespan_ns / max(1, best[row.problem]) for row in own)
        steps = ((factor, (i + 1) / len(best)) for i, factor in enumerate(factors))
        profiles[policy] = tuple(dict(steps).items())
    return profiles


def _best_ns(rows: Sequence[StudyRow]) -> Mapping[str, int]:
    best: dict[str, int] = {}
    for row in rows:
        best[row.problem] = min(row.makespan_ns, best.get(row.problem, row.makespan_ns))
    return best


def _by_policy(rows: Sequence[StudyRow]) -> Mapping[str, list[StudyRow]]:
    found: dict[str, list[StudyRow]] = defaultdict(list)
    for row in rows:
        found[row.policy].append(row)
    return found
