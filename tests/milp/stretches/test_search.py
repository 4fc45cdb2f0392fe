"""A long plan becomes shorter stretch by stretch, and the search's one best plan is that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from surplus.milp import SolveParams, formulation, plan_search
from surplus.milp.deadline import Deadline
from surplus.milp.footprint import stretch_bytes
from surplus.milp.incumbent import Incumbent
from surplus.milp.search import Search
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.standing import Standing
from surplus.milp.stretches.search import SIZES, StretchParams, StretchSearch, has_stretches
from surplus.placement import Problem, make_policy, simulate, validate
from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.random_graphs import inception
from tests.milp.clock import Clock
from tests.milp.problems import edge, two_devices
from tests.milp.stretches.plans import bad

PROBLEM = inception(3, 30)
FAILED = SolverReport(SolverStatus.FAILED, message="nothing")


@pytest.fixture
def pool() -> Iterator[SolverPool]:
    made = SolverPool(1)
    yield made
    made.close()


def standing(
    problem: Problem, found: Incumbent, clock: Callable[[], float] | None = None
) -> Standing:
    deadline = Deadline.after(60) if clock is None else Deadline.after(60, clock)
    made = Standing(problem.name, 0.0, deadline, lambda progress: None)
    made.offer(found)
    return made


def test_a_bad_plan_becomes_shorter_and_is_the_best_one_then(pool: SolverPool) -> None:
    found = bad(PROBLEM, Random(1))
    shared = standing(PROBLEM, found)
    asked: list[SolverReport] = []

    def ask(
        job: SolverJob, progress: Callable[[SolverReport], None], *, grace_s: float
    ) -> SolverReport:
        # On a slow machine, too; and some questions only.
        if len(asked) == 6:
            return FAILED
        asked.append(pool.run(replace(job, time_limit_s=10.0), progress, grace_s=60))
        return asked[-1]

    StretchSearch(PROBLEM, shared, StretchParams(ask)).improve(Deadline.after(600))
    best = shared.best
    assert best is not None
    assert validate(PROBLEM, best.placement, best.timeline) == []
    assert best.makespan_ns < 0.95 * found.makespan_ns
    assert shared.history[-1].makespan_ns == best.makespan_ns
    assert len(asked) == 6


def waiting(count: int) -> Problem:
    """One after the other, what only who waits on purpose does in 36: 51 without (test_cpsat)."""
    tasks, tensors = [], []
    for first in range(0, 4 * count, 4):
        tasks += [(None, 5), (1, None), (20, None), (None, 30)]
        before = range(first - 2, first) if first else ()
        tensors += [edge(first, first + 1), edge(first + 1, first + 3)]
        tensors += [edge(task, first, first + 2) for task in before]
    return two_devices(tasks, tensors)


def test_a_solver_finds_what_annealing_does_not_however_long(pool: SolverPool) -> None:
    problem = waiting(12)
    walked = improved(problem, make_policy("heft").place(problem), AnnealParams(iterations=20_000))
    timeline = simulate(problem, walked)
    assert timeline.makespan_ns == 12 * 51
    shared = standing(problem, Incumbent(walked, timeline, timeline.makespan_ns))
    shared.raise_bound(12 * 36)
    StretchSearch(problem, shared, StretchParams(pool.run)).improve(Deadline.after(600))
    assert shared.best is not None
    assert (shared.best.makespan_ns, shared.proven()) == (12 * 36, True)
    assert validate(problem, shared.best.placement, shared.best.timeline) == []


def test_each_question_begins_with_the_plan_and_keeps_to_the_time_that_is_left() -> None:
    clock, asked = Clock(), []

    def ask(job: SolverJob, progress: object, *, grace_s: float) -> SolverReport:
        asked.append((deadline.left_s, job.time_limit_s, grace_s, job.threads, job.memory_bytes))
        assert job.start["makespan"] == found.makespan_ns
        clock.now_s += job.time_limit_s
        return SolverReport(SolverStatus.UNSOLVED)

    found = bad(PROBLEM, Random(1))
    deadline = Deadline.after(20, clock)
    shared = standing(PROBLEM, found, clock)
    StretchSearch(PROBLEM, shared, StretchParams(ask, 2, 12_345)).improve(deadline)
    assert asked
    assert {row[3:] for row in asked} == {(2, 12_345)}
    assert all(limit_s + grace_s <= left_s for left_s, limit_s, grace_s, *_ in asked)
    assert shared.best is found


def test_it_ends_where_no_stretch_of_any_size_gains() -> None:
    sizes: list[int] = []

    def ask(job: SolverJob, progress: object, *, grace_s: float) -> SolverReport:
        sizes.append(sum(name.startswith("s_") for name in job.start))
        return SolverReport(SolverStatus.UNSOLVED)

    shared = standing(PROBLEM, bad(PROBLEM, Random(1)))
    StretchSearch(PROBLEM, shared, StretchParams(ask)).improve(Deadline.after(600))
    assert len(PROBLEM.tasks) > max(SIZES)
    assert sizes == sorted(sizes)
    assert {*sizes} == {*SIZES}


def test_a_solver_that_fails_is_not_asked_again() -> None:
    asked: list[SolverJob] = []

    def ask(job: SolverJob, progress: object, *, grace_s: float) -> SolverReport:
        asked.append(job)
        return FAILED

    shared = standing(PROBLEM, bad(PROBLEM, Random(1)))
    StretchSearch(PROBLEM, shared, StretchParams(ask)).improve(Deadline.after(600))
    assert len(asked) == 1


def test_stretches_are_for_what_the_program_knows() -> None:
    assert has_stretches("cpsat", PROBLEM)
    assert not has_stretches("highs", PROBLEM)
    host, gpu = PROBLEM.devices
    submitted = replace(PROBLEM, devices=(host, replace(gpu, submit_ns=10)))
    assert not has_stretches("cpsat", submitted)


def test_what_is_too_large_for_one_program_is_asked_about_in_stretches(
    monkeypatch: pytest.MonkeyPatch, pool: SolverPool
) -> None:
    monkeypatch.setattr(formulation, "CONSTRAINT_TASKS_MAX", 50)
    # Annealing finds nothing: what is better in the end is the solver's.
    monkeypatch.setattr(plan_search, "annealed_incumbent", lambda problem, best, *rest: best)
    asked: list[str] = []

    def ask(
        job: SolverJob, progress: Callable[[SolverReport], None], *, grace_s: float
    ) -> SolverReport:
        asked.append(job.solver)
        longer = replace(job, time_limit_s=10.0)
        return pool.run(longer, progress, grace_s=60) if len(asked) < 3 else FAILED

    search = Search(PROBLEM, SolveParams("cpsat", 600, threads=1), ask=ask)
    found = bad(PROBLEM, Random(1))
    search.offer(found)
    search.run()
    result = search.result()
    assert set(asked) == {"cpsat_stretch"}
    assert result.makespan_ns is not None
    assert result.makespan_ns < found.makespan_ns
    assert "tasks in one program: above 50 it is not tried" in result.message


def test_stretches_for_which_there_is_no_room_are_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = 100 << 20
    monkeypatch.setattr(formulation, "CONSTRAINT_TASKS_MAX", 50)
    monkeypatch.setattr("surplus.milp.memory_limit.resident_bytes", lambda process="self": held)

    def ask(job: SolverJob, progress: object, *, grace_s: float) -> SolverReport:
        raise AssertionError("it was asked")

    limit_bytes = held + stretch_bytes(max(SIZES), 1) - 1
    params = SolveParams("cpsat", 2, threads=1, memory_bytes=limit_bytes)
    search = Search(PROBLEM, params, ask=ask)
    search.offer(bad(PROBLEM, Random(1)))
    search.run()
    assert "left out: cpsat's program of a stretch takes about" in search.result().message
