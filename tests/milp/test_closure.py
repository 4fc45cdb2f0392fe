import pytest

from surplus.milp.closure import ancestors, descendants, matrix, members
from surplus.placement.random_graphs import small_random
from tests.milp.problems import edge, two_devices


def reached(problem, task, neighbours):
    found = set()
    for other in neighbours[task]:
        found |= {other} | reached(problem, other, neighbours)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_closures_hold_all_that_is_reached(seed):
    problem = small_random(seed, 9)
    for task, bits in enumerate(ancestors(problem)):
        assert set(members(bits)) == reached(problem, task, problem.predecessors)
    for task, bits in enumerate(descendants(problem)):
        assert set(members(bits)) == reached(problem, task, problem.successors)


def test_sets_become_rows():
    assert matrix([0b101, 0, 0b1000000001], 10).tolist() == [
        [1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        [0] * 10,
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]
    assert matrix([], 3).shape == (0, 3)


def test_a_chain_of_thousands_takes_bits():
    problem = two_devices([(1, 1)] * 3_000, [edge(i, i + 1) for i in range(2_999)])
    assert ancestors(problem)[2_999].bit_count() == 2_999
    assert descendants(problem)[0].bit_count() == 2_999
