"""The least bottleneck, also where that makes a single query longer."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import make_policy, simulate
from surplus.placement.occupancy import Occupancy, bottleneck, occupancy_ns
from surplus.placement.random_graphs import DetectorParams, detector, small_random
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on


def busiest_ns(problem, placement):
    held = occupancy_ns(problem, placement)
    return held[bottleneck(held)]


def test_a_chain_is_shared_though_one_query_gains_nothing():
    """Two tasks, one after the other: 60 ns on the GPU alone, 70 on both, but only 40 of each."""
    problem = cpu_gpu([(40, 30), (40, 30)], [(0, [1], 1)])
    placed = make_policy("balance").place(problem)
    assert sorted(placed.device_of) == [CPU, GPU]
    assert busiest_ns(problem, placed) == 40
    alone = on([GPU, GPU])
    assert busiest_ns(problem, alone) == 60
    assert simulate(problem, alone).makespan_ns < simulate(problem, placed).makespan_ns


def test_neighbours_stay_together_where_one_alone_would_pay_for_copies():
    """Two chains with inner tensors that cost more to copy than a task takes, one of them slower
    on the CPU: no single move would part them, a beginning does."""
    problem = cpu_gpu(
        [(10, 9), (10, 9), (30, 9), (30, 9)], [(0, [1], 100), (2, [3], 100)], gpu_lanes=1
    )
    assert make_policy("balance").place(problem).device_of == (CPU, CPU, GPU, GPU)


@given(seed=st.integers(0, 2**32), count=st.integers(1, 8))
@settings(max_examples=40)
def test_no_single_move_is_better_and_the_optimum_is_near(seed, count):
    problem = small_random(seed, count, 2)
    able = [[d for d, t in enumerate(task.service_ns) if t is not None] for task in problem.tasks]
    placed = make_policy("balance").place(problem)
    found = Occupancy(problem, placed.device_of)
    for task, devices in enumerate(able):
        for device in devices:
            there = list(placed.device_of)
            there[task] = device
            assert found.load() <= Occupancy(problem, there).load()
    best = min(Occupancy(problem, devices).load()[0] for devices in product(*able))
    assert best <= found.load()[0]


def test_the_optimum_of_small_graphs_is_mostly_found():
    hits = 0
    for seed in range(60):
        problem = small_random(seed, 8, 2)
        rows = [[d for d, t in enumerate(x.service_ns) if t is not None] for x in problem.tasks]
        best = min(Occupancy(problem, devices).load()[0] for devices in product(*rows))
        found = Occupancy(problem, make_policy("balance").place(problem).device_of)
        hits += found.load()[0] <= best
    assert hits >= 50


def test_a_detector_gets_a_lesser_bottleneck_than_from_any_policy_for_one_query():
    problem = detector(3, DetectorParams(20, 3, 16, 6))
    least = busiest_ns(problem, make_policy("balance").place(problem))
    others = ("single", "sd", "comm_sd_best", "heft", "best")
    assert all(least <= busiest_ns(problem, make_policy(name).place(problem)) for name in others)
    assert least < 0.9 * busiest_ns(problem, make_policy("single").place(problem))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prices": ()}, "prices must be"),
        ({"prices": (0.0,)}, "prices must be"),
        ({"max_sweeps": 0}, "max_sweeps must be >= 1, got 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_policy("balance", **options)
