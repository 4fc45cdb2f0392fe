"""Uncapped bounds against hand-worked cases, exhaustive search and the definitions."""

from dataclasses import replace
from itertools import product

import pytest

from surplus.placement.bounds import Bounds, ContradictionError, check_bound, lower_bounds
from surplus.placement.load_bounds import (
    cheaper_here,
    lane_costs_ns,
    load_bound_ns,
    window_bound_ns,
)
from surplus.placement.path_bounds import bound_tables
from surplus.placement.problem import Problem
from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.random_graphs import small_random
from surplus.placement.simulator import simulate
from surplus.placement.table import placement_table
from tests.placement.exhaustive import best_dispatch_ns
from tests.placement.hand_problems import cpu_gpu, on


def best_balance_ns(problem: Problem) -> float:
    """Least makespan that load alone allows, whole tasks."""
    costs = lane_costs_ns(problem)
    able = [[d for d, cost in enumerate(row) if cost is not None] for row in costs]

    def longest(devices):
        loads = [0] * len(problem.devices)
        for row, d in zip(costs, devices, strict=True):
            loads[d] += row[d]
        return max(load / dev.lanes for load, dev in zip(loads, problem.devices, strict=True))

    return min(longest(devices) for devices in product(*able))


def test_the_path_takes_the_best_device_and_pays_for_forced_transfers():
    # t0 runs on the CPU only, t1 on the GPU only: 5 + copy 20 + 7, and 9 home.
    problem = cpu_gpu([(5, None), (None, 7)], [(0, [1], 20), (1, [], 9, True)])
    assert bound_tables(problem).path_ns() == 41
    assert bound_tables(problem).heads_ns().tolist() == [0, 25]
    assert bound_tables(problem).tails_ns().tolist() == [36, 9]


def test_the_path_avoids_a_transfer_where_staying_is_cheaper():
    # GPU and back: 2 + 20 + 5 = 27; both on the GPU: 2 + 11; both on the CPU: 10 + 5.
    assert bound_tables(cpu_gpu([(10, 2), (5, 11)], [(0, [1], 20)])).path_ns() == 13


def test_the_load_is_shared_as_fractions_allow():
    # Three equal tasks of 10 on the GPU and 20 on the CPU: rates 1/10 + 1/20, 3 tasks take 20.
    assert load_bound_ns(cpu_gpu([(20, 10)] * 3)) == 20
    # t0 is better on the CPU and t1 on the GPU; no exchange helps.
    assert load_bound_ns(cpu_gpu([(10, 90), (90, 10)])) == 10
    # Two tasks of 10 against 10: shared evenly; a lane more on the CPU: 20 / 3, rounded up.
    assert load_bound_ns(cpu_gpu([(10, 10)] * 2)) == 10
    assert load_bound_ns(cpu_gpu([(10, 10)] * 2, cpu_lanes=2)) == 7


def test_the_load_counts_widths_and_devices_that_cannot_run_a_task():
    # 10 on two lanes is as much as 20 on one; the GPU is no help.
    problem = cpu_gpu([(10, None), (10, None)], cpu_lanes=2, widths={0: (2, 1)})
    assert load_bound_ns(problem) == 15


def test_the_minimum_over_devices_is_no_substitute_for_prices():
    # A naive sum of least times over all lanes gives (10 + 10) / 2 = 10. But both are that fast on
    # the GPU only: prices find 10 * 20 / (1000 + 10) = 19.8.
    assert load_bound_ns(cpu_gpu([(1_000, 10)] * 2)) == 20


def test_the_least_load_takes_notice_of_who_is_dear_where():
    # Each of the first four ends first on the GPU, the last two have no choice. By fractions the
    # CPU takes five sixths of the first, which it is least bad at, so that is cheap on either.
    problem = cpu_gpu([(20, 10), (90, 10), (80, 10), (30, 10), (30, None), (None, 15)])
    assert cheaper_here(problem, 0).tolist() == [True, False, False, False, True, False]
    assert cheaper_here(problem, 1).tolist() == [True, True, True, True, False, True]


def test_tasks_without_duration_do_not_confuse_the_prices():
    problem = cpu_gpu([(0, 0), (0, 7), (7, 0), (20, 10), (0, 0), (20, 10), (20, 10)])
    assert load_bound_ns(problem) == 20


def test_a_window_adds_the_way_to_it_and_from_it():
    # t0 (100) before, t5 (50) after, four tasks of 10 between them on one lane each side.
    services = [(100, 100), *[(10, 10)] * 4, (50, 50)]
    edges = [(0, [1, 2, 3, 4], 0), *[(i, [5], 0) for i in (1, 2, 3, 4)]]
    problem = cpu_gpu(services, edges)
    assert bound_tables(problem).path_ns() == 160
    assert load_bound_ns(problem) == 95
    assert window_bound_ns(problem, bound_tables(problem)) == 170


@pytest.mark.parametrize("seed", range(60))
def test_no_bound_exceeds_the_best_of_all_schedules(seed):
    problem = small_random(seed, 4)
    bounds = lower_bounds(problem)
    best = best_dispatch_ns(problem)
    for bound in (bounds.path_ns, bounds.load_ns, bounds.window_ns):
        assert bound <= best


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 2_000))]
)
def test_bounds_hold_with_threads_pools_and_lanes_that_slow_each_other(seed):
    problem = small_disturbed(seed, 4)
    bounds = lower_bounds(problem)
    best = best_dispatch_ns(problem)
    for bound in (bounds.path_ns, bounds.load_ns, bounds.window_ns):
        assert bound <= best


def test_the_bound_is_often_reached():
    # Bounds of zero would pass the test above.
    pairs = [
        (lower_bounds(problem).makespan_ns, best_dispatch_ns(problem))
        for problem in (small_random(seed, 4) for seed in range(60))
    ]
    assert sum(bound == best for bound, best in pairs) >= 30
    assert sum(bound for bound, _ in pairs) >= 0.9 * sum(best for _, best in pairs)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("device_count", [1, 2, 3])
def test_load_never_exceeds_the_best_balance_and_beats_every_price_tried(seed, device_count):
    problem = small_random(seed, 7, device_count)
    bound = load_bound_ns(problem)
    assert bound <= -(-best_balance_ns(problem) // 1)
    if device_count == 2:
        lanes = [device.lanes for device in problem.devices]
        for share in range(21):
            price = (share, 20 - share)
            work = sum(
                min(p * c for p, c in zip(price, row, strict=True) if c is not None)
                for row in lane_costs_ns(problem)
            )
            capacity = sum(p * n for p, n in zip(price, lanes, strict=True))
            assert bound >= work / capacity


@pytest.mark.parametrize("seed", range(40))
def test_heads_and_tails_hold_in_any_schedule(seed):
    problem = (small_random if seed % 2 else small_disturbed)(seed, 15, 3)
    placement = on([task.default_device for task in problem.tasks])
    timeline = simulate(problem, placement)
    tables = bound_tables(problem)
    heads, tails = tables.heads_ns(), tables.tails_ns()
    for span in timeline:
        if span.kind == "task":
            assert heads[span.index] <= span.start_ns
            assert span.end_ns + tails[span.index] <= timeline.makespan_ns


def test_nothing_to_do_takes_no_time():
    assert lower_bounds(cpu_gpu([])).makespan_ns == 0


def slowed(problem, *slowdown):
    """The same problem on a GPU whose lanes slow each other."""
    host, gpu = problem.devices
    return replace(problem, devices=(host, replace(gpu, slowdown=slowdown)))


def test_lanes_that_speed_each_other_up_shorten_every_bound():
    # Two tasks of 3000 side by side take half as long each.
    problem = slowed(cpu_gpu([(None, 3_000)] * 2, gpu_lanes=2), 1.0, 0.5)
    bounds = lower_bounds(problem)
    assert simulate(problem, on([1, 1])).makespan_ns == 1_500
    assert (bounds.path_ns, bounds.load_ns, bounds.window_ns) == (1_500, 1_500, 1_500)
    faster = slowed(cpu_gpu([(None, 10)] * 2, [(0, [1], 0)], gpu_lanes=2), 1, 0.5)
    assert bound_tables(faster).heads_ns().tolist() == [0, 5]


def test_a_task_that_is_always_slowed_counts_what_it_takes_at_least():
    # Of two lanes a task of two never finds one busy alone: 1.5 times as long, whatever else runs.
    wide = cpu_gpu([(None, 10)], gpu_lanes=2, widths={0: (1, 2)})
    assert bound_tables(slowed(wide, 1.0, 1.5)).path_ns() == 15
    narrow = slowed(cpu_gpu([(None, 10)], gpu_lanes=2), 2.0, 1.5, 0.1)
    assert bound_tables(narrow).path_ns() == 15


def test_a_bound_above_a_plan_is_a_contradiction_that_names_both():
    check_bound(5, 5, "nobody")
    with pytest.raises(ContradictionError, match=r"somebody: the lower bound of 6 ns .* of 5 ns"):
        check_bound(6, 5, "somebody")


def test_a_table_with_a_plan_below_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr(Bounds, "makespan_ns", 99)
    with pytest.raises(ContradictionError, match=r"by hand, policy by hand: .* 99 ns .* 7 ns"):
        placement_table(cpu_gpu([(7, None)]), [on([0])])
