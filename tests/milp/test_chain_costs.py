from itertools import pairwise, product
from random import Random

import pytest

from surplus.milp.block_plan import BlockPlan
from surplus.milp.chain_costs import ChainCosts, EdgeCost
from surplus.placement import ContradictionError

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


def test_a_bound_above_the_plan_of_one_block_fails_although_the_whole_has_room():
    chain = ChainCosts(CHOICES)
    plans = {edge: BlockPlan(50, {}, {}, {}) for edge in chain.costs}
    for edge, plan in plans.items():
        chain.costs[edge].keep(plan)
    first, other = [edge for edge in chain.costs if edge[0] == 2][:2]
    with pytest.raises(ContradictionError, match="block 3: the lower bound of 51 ns is above a"):
        chain.costs[first].raise_bound(51)
    chain.costs[other].raise_bound(40)
    with pytest.raises(ContradictionError, match=r"block 3: .* 40 ns is above a plan of 39 ns"):
        chain.costs[other].keep(BlockPlan(39, {}, {}, {}))
    assert chain.shortest(lambda cost: cost.bound_ns)[0] < 5 * 39


def test_neither_a_bound_nor_a_plan_of_a_block_gets_worse():
    cost = EdgeCost()
    for length in (30, 20, 25):
        cost.keep(BlockPlan(length, {}, {}, {}))
        cost.raise_bound(length - 15)
    assert (cost.makespan_ns, cost.bound_ns) == (20, 15)
