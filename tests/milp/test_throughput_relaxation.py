"""The linear relaxation of the least load, against every placement of small problems."""

from itertools import product
from random import Random

import pytest
from ortools.sat.python import cp_model

from surplus.milp.deadline import Deadline
from surplus.milp.throughput.exchange import exchanged
from surplus.milp.throughput.model import LoadModel
from surplus.milp.throughput.relaxation import relaxation
from surplus.milp.throughput.rows import Row, proven_bound, rows_of
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.occupancy import Occupancy
from surplus.placement.random_graphs import inception, small_random
from tests.milp.clock import Clock
from tests.milp.problems import edge, two_devices
from tests.placement.exhaustive import able_devices
from tests.placement.featured_problems import featured

LIMIT_S = 60.0
SEEDS = range(40)


def load_ns(problem, devices):
    return Occupancy(problem, devices).busiest()[1]


def least_load_ns(problem):
    return min(load_ns(problem, devices) for devices in product(*able_devices(problem)))


def problems(seed):
    return small_random(seed, 6, 3), featured(seed, 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_prices_whatever_prove_more_than_the_optimum(seed):
    random = Random(seed)
    for problem in problems(seed):
        model, best_ns = LoadModel(problem), least_load_ns(problem)
        rows = rows_of(model.program)
        for _ in range(50):
            prices = [random.uniform(-1, 1) * 10 ** random.uniform(-3, 3) for _ in rows]
            assert proven_bound(rows, prices, model.load.index) <= best_ns


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relaxation_bounds_every_placement_and_its_rounding_is_one(seed):
    for problem in problems(seed):
        found, best_ns = relaxation(LoadModel(problem), LIMIT_S), least_load_ns(problem)
        assert found.bound_ns <= best_ns
        devices = exchanged(problem, found.device_of(), found.prices, Deadline.after(LIMIT_S))
        assert all(d in able for d, able in zip(devices, able_devices(problem), strict=True))
        assert best_ns <= load_ns(problem, devices) <= load_ns(problem, found.device_of())


def test_links_have_prices_too():
    # On the GPU the readers take 20 ns, but what they read holds the link for 300.
    tasks = [(10, None), (1_000, 10), (1_000, 10)]
    problem = two_devices(tasks, [edge(0, 1, 2, size=300)])
    found = relaxation(LoadModel(problem), LIMIT_S)
    assert load_bound_ns(problem) < found.bound_ns <= least_load_ns(problem)
    assert found.prices["host->gpu"] > 0
    assert sum(found.prices.values()) == pytest.approx(1)


def test_prices_by_hand():
    # D >= 6 v, 2 D >= 10 (1 - v): at one price each 3 D >= 10 - 4 v >= 6, at 5 and 3 11 D >= 30.
    load, v = 1, 0
    rows = [Row(((v, 6), (load, -1)), most=0), Row(((v, -10), (load, -2)), most=-10)]
    assert proven_bound(rows, [-1.0, -1.0], load) == 2
    assert proven_bound(rows, [-5.0, -3.0], load) == 3
    # Prices of the wrong side prove nothing, nor does none.
    assert proven_bound(rows, [1.0, 1.0], load) == 0
    assert proven_bound(rows, [0.0, 0.0], load) == 0


def test_what_is_not_linear_is_left_out():
    program = cp_model.CpModel()
    a, b, c = (program.new_bool_var(name) for name in "abc")
    program.add_exactly_one(a, b)
    program.add_implication(a, c)
    program.add_max_equality(a, [b, c])
    program.add(a + 2 * b + a <= 2)
    program.add(b >= 1).only_enforce_if(c)
    assert rows_of(program) == [
        Row(((0, 1), (1, 1)), 1, 1),
        Row(((2, 1), (0, -1)), least=0),
        Row(((0, 2), (1, 2)), most=2),
    ]


def test_a_chain_of_blocks_is_shared_out_within_a_thousandth_without_a_solver():
    problem = inception(1, 60)
    found = relaxation(LoadModel(problem), LIMIT_S)
    devices = exchanged(problem, found.device_of(), found.prices, Deadline.after(LIMIT_S))
    assert load_ns(problem, devices) <= 1.001 * found.bound_ns


def test_two_tasks_change_places_where_one_alone_would_not():
    # 6 + 5 beside 4 + 3: whatever moves alone makes one of them fuller than 11.
    problem = two_devices([(6, 6), (5, 5), (4, 4), (3, 3)])
    devices = exchanged(problem, [0, 0, 1, 1], {}, Deadline.after(LIMIT_S))
    assert load_ns(problem, devices) == least_load_ns(problem) == 9


def test_without_time_nothing_moves():
    problem = two_devices([(7, 7)] * 4)
    assert exchanged(problem, [0] * 4, {}, Deadline.after(0, Clock())) == [0] * 4
