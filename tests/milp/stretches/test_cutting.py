"""What is cut out of a plan can be put back, whatever the plan, and shorter if it became so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from surplus.milp.cpsat import names
from surplus.milp.solvers.job import SolverJob, SolverStatus
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.stretches.cutting import StretchCut
from surplus.milp.stretches.orders import PlannedOrders
from surplus.milp.stretches.stretch import PlanStretch
from surplus.placement import validate
from tests.milp.stretches.plans import bad, orders
from tests.placement.exhaustive_schedule import instance, optimum


def cut_at_random(planned: PlannedOrders, random: Random) -> StretchCut:
    count = len(planned.order)
    first = random.randrange(count)
    return StretchCut(planned, first, random.randint(first + 1, count))


@pytest.fixture
def pool() -> Iterator[SolverPool]:
    made = SolverPool(1)
    yield made
    made.close()


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_an_unchanged_stretch_leaves_a_plan_as_short_as_it_was(first: int) -> None:
    for seed in range(first, first + 100):
        planned = orders(seed)
        cut = cut_at_random(planned, Random(seed))
        found = cut.put_back(cut.start_values())
        assert validate(planned.problem, found.placement, found.timeline) == [], seed
        assert cut.floor_ns <= planned.found.makespan_ns, seed
        assert found.makespan_ns <= planned.found.makespan_ns, seed
        stretch = cut.stretch()
        assert PlanStretch.from_json(stretch.to_json()) == stretch


def test_nothing_is_past_a_stretch_that_is_all_of_the_plan() -> None:
    planned = orders(1)
    whole = StretchCut(planned, 0, len(planned.order)).stretch()
    assert whole.floor_ns == 0
    assert {(room.free_ns, room.rest_ns) for room in whole.lanes} == {(0, 0)}
    assert all(room.held == () and room.rest_ns == 0 for room in whole.links)


def answered(pool: SolverPool, cut: StretchCut, folder: Path) -> dict[str, float]:
    """An optimum of a stretch, which there always is: the plan is a solution."""
    path = folder / "stretch.json"
    path.write_text(cut.stretch().to_json())
    job = SolverJob("cpsat_stretch", str(path), cut.start_values(), 60.0, 0.0, 1)
    report = pool.run(job, lambda state: None, grace_s=60)
    assert report.status is SolverStatus.OPTIMAL, report.message
    return dict(report.values)


def test_an_answer_is_a_plan_as_short_as_it_says(pool: SolverPool, tmp_path: Path) -> None:
    shorter = 0
    for seed in range(60):
        planned = orders(seed)
        cut = cut_at_random(planned, Random(seed))
        values = answered(pool, cut, tmp_path)
        found = cut.put_back(values)
        assert validate(planned.problem, found.placement, found.timeline) == [], seed
        promised = values.get(names.MAKESPAN, 0)
        assert found.makespan_ns <= promised <= planned.found.makespan_ns, seed
        assert cut.floor_ns <= promised, seed
        shorter += found.makespan_ns < planned.found.makespan_ns
    assert shorter > 20


def test_the_best_of_a_stretch_that_is_all_of_the_plan_is_the_optimum(
    pool: SolverPool, tmp_path: Path
) -> None:
    for seed in range(40):
        problem = instance(seed)
        planned = PlannedOrders(problem, bad(problem, Random(seed)))
        cut = StretchCut(planned, 0, len(problem.tasks))
        values = answered(pool, cut, tmp_path)
        assert values.get(names.MAKESPAN, 0) == optimum(problem).makespan_ns, seed
        assert cut.put_back(values).makespan_ns == optimum(problem).makespan_ns, seed
