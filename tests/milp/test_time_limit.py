"""The limit holds for the whole search, solvers that overrun it included."""

from __future__ import annotations

from typing import Any

import pytest

from surplus.milp import deadline, plan_search, search
from surplus.milp.params import SolveParams
from surplus.milp.search import Search
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.placement.random_graphs import DetectorParams, detector, small_random
from tests.milp.clock import Clock

LIMIT_S = 10.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(deadline, "monotonic", made)
    return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """Time limit and grace of each solver that is asked; none finds anything."""
    found: list[tuple[float, float]] = []

    def run_job(job: SolverJob, progress: object, *, grace_s: float) -> SolverReport:
        found.append((job.time_limit_s, grace_s))
        return SolverReport(SolverStatus.FAILED, None, message="nothing")

    monkeypatch.setattr(search, "run_job", run_job)
    return found


@pytest.mark.parametrize(("earlier_s", "formulating_s"), [(0.0, 0.0), (4.0, 0.0), (1.0, 5.0)])
def test_what_is_left_is_the_solvers(
    clock: Clock,
    asked: list[tuple[float, float]],
    monkeypatch: pytest.MonkeyPatch,
    earlier_s: float,
    formulating_s: float,
) -> None:
    formulate = search.formulate

    def slow(*arguments: Any) -> Any:
        clock.now_s += formulating_s
        return formulate(*arguments)

    monkeypatch.setattr(search, "formulate", slow)
    searching = Search(small_random(13, 5), SolveParams("cpsat", LIMIT_S))
    monkeypatch.setattr(searching, "proven", lambda: False)
    clock.now_s += earlier_s
    searching.run()
    assert asked
    for limit_s, grace_s in asked:
        assert limit_s + grace_s == pytest.approx(LIMIT_S - earlier_s - formulating_s)


def test_no_solver_is_asked_when_the_time_is_over(
    clock: Clock, asked: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    searching = Search(small_random(13, 5), SolveParams("cpsat", LIMIT_S))
    monkeypatch.setattr(searching, "proven", lambda: False)
    clock.now_s += LIMIT_S
    searching.run()
    assert asked == []


def test_annealing_that_finds_nothing_has_half_the_time_the_next_time(
    clock: Clock, asked: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []

    def in_vain(problem: object, best: object, deadline: Any, *rest: object) -> object:
        times.append(deadline.left_s)
        return best

    monkeypatch.setattr(plan_search, "annealed_incumbent", in_vain)
    problem = detector(1, DetectorParams(12, 1, 20, 2))
    made = Search(problem, SolveParams("cpsat", LIMIT_S))
    made.prepare()
    for _ in range(3):
        made.run()
    assert times == pytest.approx([3.0, 1.5, 0.75])
    assert len(asked) == 3
