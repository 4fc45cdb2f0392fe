import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import make_policy, simulate
from surplus.placement.descent import DescentParams
from surplus.placement.evaluator import compiled, makespan_ns
from tests.placement.featured_problems import featured, placed
from tests.placement.hand_problems import CPU, GPU, cpu_gpu


def forks(count):
    """Forks of two tasks, one after another; each task takes 10 on either device, joins 1."""
    services, edges = [(1, 1)], []
    for _ in range(count):
        last = len(services) - 1
        services += [(10, 10), (10, 10), (1, 1)]
        edges += [(last, [last + 1, last + 2], 0), (last + 1, [last + 3], 0)]
        edges += [(last + 2, [last + 3], 0)]
    return cpu_gpu(services, edges)


def search(problem, *device_rows, evaluations=0):
    """What the native search makes of placements in the order of the tasks."""
    order = np.arange(len(problem.tasks))
    rows = [(np.array(devices), order) for devices in device_rows]
    devices, priority, length_ns = compiled(problem).search(rows, evaluations)
    assert compiled(problem).makespan_ns(devices, priority) == length_ns
    return devices.tolist(), length_ns


@given(seed=st.integers(0, 2**32), count=st.integers(1, 25), devices=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_it_is_never_longer_than_what_it_begins_with(seed, count, devices):
    problem = featured(seed, count, devices)
    found = makespan_ns(problem, make_policy("descent").place(problem))
    begin = DescentParams().begin
    assert found <= min(makespan_ns(problem, make_policy(n).place(problem)) for n in begin)


@given(seed=st.integers(0, 2**32), count=st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_a_search_is_never_longer_than_the_best_proposal(seed, count):
    problem = featured(seed, count, 3)
    plans = [placed(problem, seed + place) for place in range(4)]
    arrays = [(np.array(p.device_of), np.array(p.priority)) for p in plans]
    best_ns = min(makespan_ns(problem, plan) for plan in plans)
    for evaluations in (0, 1, 7, 200):
        devices, priority, length_ns = compiled(problem).search(arrays, evaluations)
        assert compiled(problem).makespan_ns(devices, priority) == length_ns <= best_ns


def test_without_evaluations_the_best_beginning_is_kept():
    problem = cpu_gpu([(10, 10)] * 4)
    begun = make_policy("descent", evaluations=0, begin=("single",)).place(problem)
    assert begun.device_of == (GPU,) * 4
    assert simulate(problem, make_policy("descent").place(problem)).makespan_ns == 20


def test_a_chain_changes_devices_as_a_whole():
    # Alone, either of the last two would wait for 200 bytes.
    problem = cpu_gpu([(1000, 100), (20, 20), (20, 20)], [(1, [2], 200)])
    placement = make_policy("descent", begin=("single",)).place(problem)
    assert placement.device_of == (GPU, CPU, CPU)
    assert simulate(problem, placement).makespan_ns == 100


def test_of_a_chain_those_go_that_can():
    problem = cpu_gpu([(1000, 100), (20, 20), (None, 1), (20, 20)], [(1, [2], 0), (2, [3], 0)])
    assert search(problem, [GPU] * 4, evaluations=1) == ([GPU, CPU, GPU, CPU], 100 + 1 + 20)


def test_parts_of_several_plans_are_put_together():
    # Each plan uses both devices in one of the two forks: 1 + 10 + 1 + 20 + 1.
    problem = forks(2)
    first, second = [GPU, CPU] + [GPU] * 5, [GPU] * 4 + [CPU] + [GPU] * 2
    assert search(problem, first)[1] == search(problem, second)[1] == 33
    assert search(problem, first, second) == ([GPU, CPU, GPU, GPU, CPU, GPU, GPU], 23)


def test_parts_fit_together_only_where_the_task_between_them_is_in_one_place():
    # The second plan's last fork reads 90 bytes of the join's on the CPU, the first's on the GPU.
    services = [(1, 1), (10, 10), (10, 10), (1, 1), (10, 10), (10, 10), (1, 1)]
    edges = [(0, [1, 2], 0), (1, [3], 0), (2, [3], 0), (3, [4, 5], 90), (4, [6], 0), (5, [6], 0)]
    problem = cpu_gpu(services, edges, cpu_lanes=2)
    first, second = [GPU, CPU] + [GPU] * 5, [GPU] * 3 + [CPU] * 4
    assert search(problem, first)[1] == 33
    assert search(problem, second)[1] == 33
    assert search(problem, first, second)[1] == 33
    third = [GPU, CPU, GPU, CPU] + [GPU] * 3
    assert search(problem, third)[1] == 123
    assert search(problem, first, second, third)[1] == 23


def test_one_evaluation_tries_a_change_in_each_part():
    # The first task, which is of two parts, and a task of each other part; what of that helped; the
    # same of the second part.
    problem = forks(20)
    assert search(problem, [GPU] * 61)[1] == 1 + 20 * 21
    assert search(problem, [GPU] * 61, evaluations=4)[1] == 1 + 20 * 11


def test_what_helps_in_some_parts_is_kept_there():
    # In every other fork the CPU is of no use.
    problem = forks(6)
    slow = [(10, 10) if task // 3 % 2 else (90, 10) for task in range(19)]
    mixed = cpu_gpu(slow, [(t.producer, t.consumers, 0) for t in problem.tensors])
    gpu_ns = search(mixed, [GPU] * 19)[1]
    assert search(mixed, [GPU] * 19, evaluations=2)[1] < gpu_ns


def test_a_search_needs_something_to_begin_with():
    with pytest.raises(ValueError, match="no placement to begin with"):
        compiled(forks(1)).search([], 5)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"evaluations": -1}, "evaluations must be >= 0, got -1"),
        ({"begin": ()}, "begin must be a tuple"),
        ({"begin": ("descent",)}, "begin must be a tuple of other policies"),
        ({"begin": ("fastest",)}, "unknown policy 'fastest'"),
    ],
)
def test_wrong_options_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        make_policy("descent", **options)


def drifted(problem, devices, drift, seed=1):
    """What random changes alone make of devices in the order of the tasks."""
    start = (np.array(devices), np.arange(len(devices)))
    *found, length_ns = compiled(problem).search([start], 0, drift, seed)
    assert compiled(problem).makespan_ns(*found) == length_ns
    return [numbers.tolist() for numbers in found], length_ns


def never_longer_and_the_same_again(seed, count, *efforts):
    """Of efforts that follow how much descends."""
    problem = featured(seed, count, 3)
    plan = placed(problem, seed)
    start = (np.array(plan.device_of), np.array(plan.priority))
    found = compiled(problem).search([start], 0, *efforts)
    assert compiled(problem).makespan_ns(*found[:2]) == found[2] <= makespan_ns(problem, plan)
    again = compiled(problem).search([start], 0, *efforts)
    assert [numbers.tolist() for numbers in again[:2]] == [n.tolist() for n in found[:2]]


@given(seed=st.integers(0, 2**32), count=st.integers(1, 30), drift=st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_random_changes_never_make_a_plan_longer_and_equal_seeds_do_the_same(seed, count, drift):
    never_longer_and_the_same_again(seed, count, drift, seed)


def test_random_changes_help_each_part_by_itself():
    # A plan that is best in all of 30 parts is out of reach of 40 random ones.
    problem = forks(30)
    assert drifted(problem, [GPU] * 91, 40)[1] == 1 + 30 * 11
    assert drifted(problem, [GPU] * 91, 40, seed=2)[0] != drifted(problem, [GPU] * 91, 40)[0]


def test_random_changes_are_of_the_order_too():
    # The long one first: 12 instead of 6 + 12 on two lanes.
    problem = cpu_gpu([(6, None), (6, None), (12, None)], cpu_lanes=2)
    assert search(problem, [CPU] * 3)[1] == 18
    assert drifted(problem, [CPU] * 3, 60)[1] == 12


@given(seed=st.integers(0, 2**32), count=st.integers(1, 30), changes=st.integers(1, 200))
@settings(max_examples=100, deadline=None)
def test_annealing_never_makes_a_plan_longer_and_equal_seeds_do_the_same(seed, count, changes):
    never_longer_and_the_same_again(seed, count, 0, seed, changes)


def test_annealing_finds_what_no_single_change_does():
    # Two tasks of each device have to change places: one of them alone makes it longer.
    problem = cpu_gpu([(10, 14), (10, 14), (14, 10), (14, 10)])
    crossed = [GPU, GPU, CPU, CPU]
    assert search(problem, crossed, evaluations=100)[1] == 28
    start = (np.array(crossed), np.arange(4))
    assert compiled(problem).search([start], 0, 0, 1, 200)[2] == 20
