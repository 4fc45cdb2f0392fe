from dataclasses import dataclass

import pytest

from surplus.milp import SolveParams, solve
from surplus.milp.deadline import Deadline
from surplus.milp.incumbent import best_of, make_incumbent
from surplus.milp.starts import (
    annealed_incumbent,
    block_incumbent,
    known_incumbents,
)
from surplus.placement import Placement, make_policy, policy_names, simulate, validate
from surplus.placement import policy as registry
from surplus.placement.random_graphs import DetectorParams, detector, inception
from tests.milp.clock import Clock
from tests.milp.problems import two_devices

PROBLEM = inception(1, 2, 3, 2)


def best_simulated_ns(problem):
    placed = (make_policy(name).place(problem) for name in policy_names())
    return min(simulate(problem, p).makespan_ns for p in placed)


def test_every_policy_is_asked_where_there_is_time():
    best = min(found.makespan_ns for found in known_incumbents(PROBLEM))
    assert best <= best_simulated_ns(PROBLEM)
    names = {found.placement.policy for found in known_incumbents(PROBLEM)}
    assert names >= {"heft", "comm_sd", "all on cpu", "priced"}


def test_no_policy_begins_when_its_share_of_the_time_is_over(monkeypatch):
    clock, asked = Clock(), []

    class Slow:
        def __init__(self, name):
            self._name = name

        def place(self, problem):
            asked.append(self._name)
            clock.now_s += 5
            return Placement((0,) * len(problem.tasks), tuple(range(len(problem.tasks))), "slow")

    monkeypatch.setattr("surplus.placement.make_policy", Slow)
    found = list(known_incumbents(PROBLEM, None, Deadline.after(30, clock)))
    assert asked == ["heft", "single"]
    assert found


def test_of_large_problems_the_best_few_are_decoded():
    problem = detector(3, DetectorParams(20, 3, 80, 6))
    found = list(known_incumbents(problem))
    assert len(problem.tasks) > 500
    assert 0 < len(found) < len(policy_names())
    assert min(f.makespan_ns for f in found) <= best_simulated_ns(problem)


@dataclass(frozen=True)
class AnnealParams:
    """As much of the annealing policy's options as the hook looks at."""

    time_limit_s: float = 1.0
    threads: int = 1


@pytest.fixture
def annealing(monkeypatch):
    """A policy called ``anneal`` that knows the best plan; what it was asked with."""
    asked = []
    best = solve(PROBLEM, SolveParams("cpsat", 20)).placement

    class Anneal:
        def __init__(self, params):
            asked.append(params)

        def place(self, problem):
            return best

    entry = registry._Entry(Anneal, AnnealParams, False)
    monkeypatch.setattr(registry, "_REGISTRY", {**registry._REGISTRY, "anneal": entry})
    return asked


def test_the_annealing_policy_is_asked_for_the_time_that_is_left(annealing):
    deadline = Deadline.after(60)
    count = len(PROBLEM.tasks)
    before = make_incumbent(PROBLEM, [0] * count, range(count), "all on cpu")
    assert list(known_incumbents(PROBLEM, None, deadline))
    assert annealing == []
    found = annealed_incumbent(PROBLEM, before, deadline, 2, 0)
    assert found.makespan_ns < before.makespan_ns
    assert [params.threads for params in annealing] == [2]
    assert 0 < annealing[0].time_limit_s <= 60


def test_without_that_policy_plans_get_better_all_the_same(monkeypatch):
    known = {name: entry for name, entry in registry._REGISTRY.items() if name != "anneal"}
    monkeypatch.setattr(registry, "_REGISTRY", known)
    problem = detector(0, DetectorParams(10, 2, 6, 2))
    before = best_of(known_incumbents(problem))
    found = annealed_incumbent(problem, before, Deadline.after(1), 1, 0)
    assert found.makespan_ns < before.makespan_ns
    assert validate(problem, found.placement, found.timeline) == []


@pytest.mark.parametrize("branches", [2, 20])
def test_a_blocks_plan_is_no_worse_than_the_known_one(branches):
    problem = detector(0, DetectorParams(5, 1, branches, 3))
    known = best_of(known_incumbents(problem))
    found = block_incumbent(problem, Deadline.after(60), known)
    assert found.makespan_ns <= known.makespan_ns
    assert validate(problem, found.placement, found.timeline) == []


def test_a_warm_start_counts_with_them():
    problem = two_devices([(10, 10), (10, 10)])
    warm = Placement((1, 0), (0, 1), "mine")
    assert "mine" in {found.placement.policy for found in known_incumbents(problem, warm)}
