"""Clusters are placed for the least load, by a solver where the local search may be improved on."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

import pytest

from surplus.engine.planning.least_load import LeastLoad
from surplus.milp import SolverUnavailableError
from surplus.placement import InfeasibleError, Problem, make_policy
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.occupancy import Occupancy, busiest_of
from surplus.placement.random_graphs import small_random
from tests.placement.hand_problems import cpu_gpu

SOLVE = "surplus.milp.throughput.search.solve_throughput"


def least_ns(problem: Problem) -> float:
    """Over every placement."""
    able = [[d for d, t in enumerate(task.service_ns) if t is not None] for task in problem.tasks]
    return min(Occupancy(problem, devices).load()[0] for devices in product(*able))


@pytest.fixture(scope="module")
def stuck() -> list[Problem]:
    """Two problems in which the local search ends clearly above the least load."""
    problems = (small_random(seed, 8, 2) for seed in range(150))
    found = (
        problem
        for problem in problems
        if busiest_of(problem, make_policy("balance").place(problem))[1] > 1.1 * least_ns(problem)
    )
    return list(islice(found, 2))


def test_a_solver_finds_what_single_moves_do_not(stuck: list[Problem]) -> None:
    assert len(stuck) == 2
    for problem in stuck:
        assert busiest_of(problem, LeastLoad(20.0)(problem))[1] == least_ns(problem)


def test_no_solver_is_asked_where_it_could_gain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SOLVE, lambda *_: pytest.fail("asked"))
    problem = cpu_gpu([(40, 40), (40, 40)], [])
    placed = LeastLoad(1.0)(problem)
    assert placed == make_policy("balance").place(problem)
    assert busiest_of(problem, placed)[1] == load_bound_ns(problem)


@pytest.mark.parametrize("error", [SolverUnavailableError("none"), InfeasibleError("too much")])
def test_without_a_solver_it_is_the_local_search(
    monkeypatch: pytest.MonkeyPatch, stuck: list[Problem], error: Exception
) -> None:
    asked: list[Any] = []

    def refuse(*given: Any) -> None:
        asked.append(given)
        raise error

    monkeypatch.setattr(SOLVE, refuse)
    problem = stuck[0]
    assert LeastLoad(1.0)(problem).device_of == make_policy("balance").place(problem).device_of
    assert len(asked) == 1
