"""Every bound, uncapped, against the optimum of small problems."""

import pytest

from surplus.placement.bounds import lower_bounds
from surplus.placement.path_bounds import bound_tables
from tests.placement.exhaustive import best_dispatch_ns
from tests.placement.exhaustive_schedule import instance, optimum
from tests.placement.hand_problems import cpu_gpu

CHUNK = 250


def check_bounds(seed):
    """Whether the best of the bounds is met; none may exceed the optimum."""
    problem = instance(seed)
    best = optimum(problem)
    bounds = lower_bounds(problem)
    for bound in (bounds.path_ns, bounds.load_ns, bounds.window_ns):
        assert bound <= best.makespan_ns, seed
    tables = bound_tables(problem)
    heads, tails = tables.starts_ns, tables.afters_ns
    for task, (device, start) in enumerate(zip(best.devices, best.starts_ns, strict=True)):
        end = start + problem.tasks[task].service_ns[device]
        assert heads[task][device] <= start, seed
        assert end + tails[task][device] <= best.makespan_ns, seed
    return bounds.makespan_ns == best.makespan_ns


@pytest.mark.parametrize("first", range(0, 2_000, CHUNK))
def test_no_bound_exceeds_the_optimum(first):
    met = sum(check_bounds(seed) for seed in range(first, first + CHUNK))
    assert CHUNK / 2 < met < CHUNK


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 30_000, 2_000))
def test_no_bound_exceeds_the_optimum_of_many(first):
    for seed in range(first, first + 2_000):
        check_bounds(seed)


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_no_longer_than_any_dispatch(seed):
    problem = instance(seed)
    if len(problem.tasks) < 5:
        assert optimum(problem).makespan_ns <= best_dispatch_ns(problem)


def test_the_optimum_waits_on_purpose():
    # The CPU idles until 5 for the urgent task; a work-conserving runtime takes the long one.
    problem = cpu_gpu([(None, 5), (1, None), (20, None), (None, 30)], [(0, [1], 0), (1, [3], 0)])
    assert (optimum(problem).makespan_ns, best_dispatch_ns(problem)) == (36, 51)


def test_the_optimum_orders_copies_over_a_link():
    # 20 bytes for a task of 1, 30 for one of 40: the longer copy first, or the shorter?
    problem = cpu_gpu(
        [(10, None), (None, 1), (None, 40)], [(0, [1], 20), (0, [2], 30)], gpu_lanes=2
    )
    assert optimum(problem).makespan_ns == 10 + 30 + 40


def test_the_optimum_gives_a_task_without_length_a_lane_of_its_own():
    problem = cpu_gpu([(10, None), (0, None)], [(0, [1], 0)])
    best = optimum(problem)
    assert (best.makespan_ns, best.devices, best.starts_ns) == (10, (0, 0), (0, 10))
