import pytest

from surplus.milp.deadline import Deadline
from surplus.milp.incumbent import best_of, make_incumbent
from surplus.milp.starts import (
    annealed_incumbent,
    block_incumbent,
    known_incumbents,
)
from surplus.placement import Placement, make_policy, policy_names, simulate, validate
from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.random_graphs import DetectorParams, detector, inception
from tests.milp.clock import Clock
from tests.milp.problems import two_devices

PROBLEM = inception(1, 2, 3, 2)


def best_simulated_ns(problem):
    fast = set(policy_names()) - {"anneal", "robust"}  # which search, and judge by other times
    placed = (make_policy(name).place(problem) for name in fast)
    return min(simulate(problem, p).makespan_ns for p in placed)


def test_every_policy_is_asked_where_there_is_time():
    best = min(found.makespan_ns for found in known_incumbents(PROBLEM))
    assert best <= best_simulated_ns(PROBLEM)
    names = {found.placement.policy for found in known_incumbents(PROBLEM)}
    assert names >= {"heft", "comm_sd", "all on cpu", "priced"}


@pytest.mark.parametrize(("limit_s", "names"), [(30, ["auto"]), (150, ["auto", "heft"])])
def test_no_policy_begins_that_may_take_too_long(monkeypatch, limit_s, names):
    clock, asked = Clock(), []
    monkeypatch.setattr("surplus.milp.starts._FEW_TASKS", 5)

    class Slow:
        def __init__(self, name):
            self._name = name

        def place(self, problem):
            asked.append(self._name)
            clock.now_s += 5
            return Placement((0,) * len(problem.tasks), tuple(range(len(problem.tasks))), "slow")

    monkeypatch.setattr("surplus.placement.make_policy", Slow)
    found = list(known_incumbents(PROBLEM, None, Deadline.after(limit_s, clock)))
    assert asked == names
    assert found


def test_of_large_problems_the_best_few_are_decoded():
    problem = detector(3, DetectorParams(20, 3, 80, 6))
    found = list(known_incumbents(problem))
    assert len(problem.tasks) > 500
    assert 0 < len(found) < len(policy_names())
    assert min(f.makespan_ns for f in found) <= best_simulated_ns(problem)


def test_annealing_begins_at_a_plan_and_ends_with_its_time(monkeypatch):
    asked = []

    def noted(problem, start, params):
        asked.append((start, params))
        return improved(problem, start, AnnealParams(iterations=300, seed=params.seed))

    monkeypatch.setattr("surplus.milp.annealing.improved", noted)
    problem = detector(0, DetectorParams(10, 2, 6, 2))
    assert list(known_incumbents(problem))
    assert asked == []  # it is none of the known plans' policies
    count = len(problem.tasks)
    before = make_incumbent(problem, [1] * count, range(count), "all on gpu")
    found = annealed_incumbent(problem, before, Deadline.after(60), 2, 7)
    assert found.makespan_ns < before.makespan_ns
    assert validate(problem, found.placement, found.timeline) == []
    ((start, params),) = asked
    assert start == before.placement
    assert (params.threads, params.seed) == (2, 7)
    assert 0 < params.time_s <= 60


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
