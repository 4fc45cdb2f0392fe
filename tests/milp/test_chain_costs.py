from itertools import pairwise, product
from random import Random

import pytest

from surplus.milp.block_plan import BlockPlan
from surplus.milp.chain_costs import ChainCosts, EdgeCost

CHOICES = [(None,), (0, 1), (0, 1, 2), (1,), (0, 1), (None,)]


def random_costs(seed):
    random, chain = Random(seed), ChainCosts(CHOICES)
    for cost in chain.costs.values():
        cost.bound_ns = random.randint(0, 20)
    return chain


def all_paths():
    for cuts in product(*CHOICES):
        yield [(number, a, b) for number, (a, b) in enumerate(pairwise(cuts))]


@pytest.mark.parametrize("seed", range(10))
def test_the_shortest_of_all_paths(seed):
    chain = random_costs(seed)
    lengths = {sum(chain.costs[e].bound_ns for e in path): path for path in all_paths()}
    far, path = chain.shortest(lambda cost: cost.bound_ns)
    assert far == min(lengths) == sum(chain.costs[e].bound_ns for e in path)
    assert path in list(all_paths())


@pytest.mark.parametrize("seed", range(10))
def test_edges_are_worth_a_look_if_a_path_through_them_is_short(seed):
    chain = random_costs(seed)
    upper = int(chain.shortest(lambda cost: cost.bound_ns)[0]) + 9
    short = [p for p in all_paths() if sum(chain.costs[e].bound_ns for e in p) < upper]
    assert chain.worth(upper) == {edge for path in short for edge in path}


def test_a_cost_is_solved_when_plan_and_bound_meet():
    cost = EdgeCost(bound_ns=10)
    assert not cost.is_solved
    cost.plan = BlockPlan(11, {}, {}, {})
    assert not cost.is_solved
    cost.bound_ns = 11
    assert cost.is_solved
