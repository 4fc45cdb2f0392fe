"""What ``bench placement_small`` counts as a problem, and what it holds ``auto`` against."""

from collections.abc import Iterator
from random import Random

import pytest

from bench.models import placement_small
from bench.models.placement_small import KINDS, TASKS, bars, over_the_optimum, placed_ns, row
from surplus.placement.adversary.exhaustive import best_of_all_ns


@pytest.fixture(autouse=True, scope="module")
def no_process_is_left() -> Iterator[None]:
    yield
    placement_small.solvers().close()
    placement_small.solvers.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_has_as_many_problems_as_were_looked_at(kind: str) -> None:
    problems = KINDS[kind](Random(1), 12)
    assert len(problems) == 13
    assert all(len(problem.tasks) == TASKS for problem in problems)
    assert len({problem.to_json() for problem in problems}) > 8


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_optimum_that_plans_are_over(seed: int) -> None:
    problem = KINDS["random"](Random(seed), 0)[0]
    ratio, proven = over_the_optimum(problem)
    assert proven
    # The optimum may wait on purpose, which none of all dispatches does.
    assert ratio >= placed_ns(problem) / best_of_all_ns(problem) >= 1.0


def test_what_waiting_gains_is_not_held_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = iter([(1.0, True), (1.3, True), (1.0, True), (1.4, False)])
    orders = iter([1.0, 1.25])
    monkeypatch.setattr(placement_small, "over_the_optimum", lambda problem: next(ratios))
    monkeypatch.setattr(placement_small, "over_any_order", lambda problem: next(orders))
    found = bars([row("random", "0", 1), row("adversarial", "0", 1)])
    assert [(bar["worst"], bar["holds"], bar["proven"]) for bar in found] == [
        (1.3, "yes", 2),
        (1.4, "no", 1),
    ]
    assert [bar["worst that waits for nothing"] for bar in found] == [1.0, 1.25]
