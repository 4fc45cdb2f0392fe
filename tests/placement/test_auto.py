import logging
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import auto as module
from surplus.placement import lower_bounds, make_policy
from surplus.placement.evaluator import compiled, makespan_ns
from surplus.placement.families.registry import family_problem
from surplus.placement.random_graphs import (
    DetectorParams,
    MachineParams,
    detector,
    inception,
    small_random,
)
from surplus.placement.room import fits
from tests.placement.exhaustive import able_devices
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import cpu_gpu
from tests.placement.limited_problems import with_limits, with_weights

FAST = ("heft", "peft", "single")


def length_ns(problem, name, **options):
    return makespan_ns(problem, make_policy(name, **options).place(problem))


@given(seed=st.integers(0, 2**32), count=st.integers(1, 40), devices=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_it_is_never_longer_than_the_policies_that_it_asks(seed, count, devices):
    problem = featured(seed, count, devices)
    assert length_ns(problem, "auto") <= min(length_ns(problem, name) for name in FAST)


@pytest.mark.parametrize(
    "problem",
    [
        detector(3, DetectorParams(20, 3, 16, 6)),
        detector(4, DetectorParams(60, 6, 80, 5), MachineParams(2, 2)),
        inception(3, 20),
        inception(4, 60, machine=MachineParams(2, 1, occupancy_ns=2_000)),
    ],
    ids=lambda problem: problem.name,
)
def test_realistic_graphs_are_no_longer_than_by_best(problem):
    found = length_ns(problem, "auto")
    assert lower_bounds(problem).makespan_ns <= found <= length_ns(problem, "best")


def lures(count):
    """Pairs of which the first ends earlier on a CPU, but what it makes is needed on the GPU."""
    services = [time for _ in range(count) for time in ((10_000, 11_000), (1_500_000, 35_000))]
    edges = [(2 * pair, [2 * pair + 1], 400_000) for pair in range(count)]
    return cpu_gpu(services, edges, latency_ns=10_000)


def test_links_are_not_filled_for_a_little_time():
    problem = lures(100)
    assert length_ns(problem, "heft") > 2 * length_ns(problem, "comm_sd")
    assert length_ns(problem, "auto") <= length_ns(problem, "comm_sd")


@pytest.mark.parametrize("lanes", [1, 2])
def test_wide_problems_are_shared_out_by_prices(lanes):
    # Lists by the earliest end, which take no notice of who is dear where, are a tenth longer.
    problem = family_problem("layered", 1_000, 1, MachineParams(lanes, lanes))
    bound_ns = lower_bounds(problem).makespan_ns
    assert length_ns(problem, "heft") > 1.1 * bound_ns
    assert length_ns(problem, "auto") < 1.05 * bound_ns


def dispatched_ns(problem):
    """The shortest over all devices and orders."""
    asked = compiled(problem)
    rows = [np.array(devices) for devices in product(*able_devices(problem))]
    orders = [np.array(order) for order in permutations(range(len(problem.tasks)))]
    return min(asked.makespan_ns(devices, order) for devices in rows for order in orders)


@pytest.mark.parametrize("seed", range(40))
def test_small_problems_come_near_the_optimum(seed):
    problem = small_random(seed, 5, 2)
    assert length_ns(problem, "auto") <= 1.2 * dispatched_ns(problem)


def test_equal_budgets_make_equal_plans_whatever_the_clock_says(monkeypatch):
    problem = detector(1, DetectorParams(20, 3, 16, 6))
    first = make_policy("auto").place(problem)
    ticks = iter(range(0, 10**9, 10_000))
    monkeypatch.setattr(module, "thread_time_ns", lambda: next(ticks))
    assert make_policy("auto").place(problem) == first


def test_the_rest_is_left_out_and_logged_where_the_time_is_exceeded(monkeypatch, caplog):
    problem = inception(3, 20)
    ticks = iter(range(0, 10**18, 10**12))
    monkeypatch.setattr(module, "thread_time_ns", lambda: next(ticks))
    with caplog.at_level(logging.INFO):
        placement = make_policy("auto").place(problem)
    assert makespan_ns(problem, placement) == length_ns(problem, "heft")
    assert "the time is over, proposals made: 1" in caplog.text


@pytest.fixture
def no_time(monkeypatch):
    """A clock that stands, as what a budget buys does not follow from one."""
    monkeypatch.setattr(module, "thread_time_ns", lambda: 0)


@pytest.mark.usefixtures("no_time")
def test_more_time_finds_more():
    problem = detector(4, DetectorParams(60, 6, 80, 5), MachineParams(2, 2))
    short, long = (length_ns(problem, "auto", time_ms=ms) for ms in (0.1, 200))
    assert long < short


@pytest.mark.usefixtures("no_time")
def test_several_gpus_have_ten_times_the_time():
    one = detector(4, DetectorParams(60, 6, 80, 5))
    gpu, (up, down) = one.devices[1], one.links
    second = replace(gpu, name="gpu1", memory="gpu1")
    links = (
        *(up, down, replace(up, target="gpu1"), replace(down, source="gpu1")),
        *(replace(up, source=a, target=b) for a, b in (("gpu", "gpu1"), ("gpu1", "gpu"))),
    )
    tasks = tuple(
        replace(task, service_ns=(*task.service_ns, task.service_ns[1])) for task in one.tasks
    )
    two = replace(one, devices=(*one.devices, second), links=links, tasks=tasks)
    default = max(8.0, 0.01 * len(one.tasks))
    assert length_ns(one, "auto") == length_ns(one, "auto", time_ms=default)
    assert length_ns(two, "auto") == length_ns(two, "auto", time_ms=10 * default)
    assert length_ns(two, "auto") < length_ns(two, "auto", time_ms=default)


def test_memory_limits_are_kept():
    problem = with_weights(detector(1, DetectorParams(20, 3, 16, 6)), 1)
    use = sum(task.weight_bytes for task in problem.tasks) // 3
    limited = with_limits(problem, gpu=use + 9_000_000)
    placement = make_policy("auto").place(limited)
    assert placement.policy == "auto"
    assert fits(limited, placement)


def test_under_limits_what_was_moved_out_task_by_task_is_annealed():
    problem = with_weights(detector(1, DetectorParams(60, 6, 80, 5)), 1)
    use = sum(task.weight_bytes for task in problem.tasks) // 3
    limited = with_limits(problem, gpu=use + 9_000_000)
    fitting = make_policy("best", policies=("comm_sd_best", "heft", "peft", "single"))
    assert length_ns(limited, "auto") < makespan_ns(limited, fitting.place(limited))


@pytest.mark.parametrize("time_ms", [0, -1.0, float("inf"), float("nan")])
def test_a_wrong_time_is_refused(time_ms):
    with pytest.raises(ValueError, match="time_ms must be above 0, got"):
        make_policy("auto", time_ms=time_ms)
