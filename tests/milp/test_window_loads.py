"""Loads of windows by themselves; against optima they are tried in test_exhaustive_bounds."""

import pytest

from surplus.milp.window_loads import window_loads_ns
from surplus.milp.windows import eligible_devices, time_windows
from surplus.placement import lower_bounds
from surplus.placement.random_graphs import small_random
from tests.milp.problems import edge, two_devices
from tests.placement.exhaustive_schedule import instance, optimum


def bound_ns(problem):
    return window_loads_ns(problem, time_windows(problem, eligible_devices(problem)))


def test_the_way_to_a_device_counts_if_it_is_used():
    # 10 tasks of 100 on either device; the GPU's begin 5 + 295 later. Shared out: 5 x 100 on the
    # GPU end at 800, 8 on the CPU and 2 on the GPU at 800 as well; half each would say 500.
    problem = two_devices([(100, 100)] * 10, [edge(-1, *range(10), size=295)])
    assert lower_bounds(problem).makespan_ns <= 500
    assert bound_ns(problem) == 650


def test_a_device_that_may_stay_empty_costs_no_way():
    # All on the CPU takes 30: less than the way to the GPU alone.
    problem = two_devices([(10, 1)] * 3, [edge(-1, 0, 1, 2, size=295)])
    assert bound_ns(problem) == 30


def test_tasks_that_only_one_device_runs():
    problem = two_devices([(None, 10)] * 3, [edge(-1, 0, 1, 2, size=95)])
    assert bound_ns(problem) == 130


def test_nothing_takes_no_time():
    assert bound_ns(two_devices([])) == 0


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_no_optimum_is_shorter(first):
    for seed in range(first, first + 100):
        problem = instance(seed)
        assert bound_ns(problem) <= optimum(problem).makespan_ns, seed


@pytest.mark.parametrize("devices", [3, 5])
def test_many_devices(devices):
    problem = small_random(devices, 4, devices)
    assert bound_ns(problem) <= optimum(problem).makespan_ns
