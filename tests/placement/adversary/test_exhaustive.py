import pytest

from surplus.placement.adversary.exhaustive import best_of_all_ns, best_of_placements_ns
from surplus.placement.random_graphs import small_random
from tests.placement.exhaustive import best_dispatch_ns


@pytest.mark.parametrize("seed", range(30))
def test_the_best_of_all_is_that_of_the_simulator(seed):
    problem = small_random(seed, 1 + seed % 5)
    best_ns = best_of_all_ns(problem)
    assert best_ns == best_dispatch_ns(problem)
    assert best_of_placements_ns(problem) >= best_ns


def test_too_many_tasks_are_refused():
    with pytest.raises(ValueError, match="9 tasks are too many to try all, 8 is most"):
        best_of_all_ns(small_random(0, 9))
