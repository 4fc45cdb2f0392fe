from dataclasses import replace

import pytest

from surplus.placement import Device, Problem, Task, make_policy, simulate
from surplus.placement.getf import assigned_groups, like_devices
from tests.placement.hand_problems import CPU, GPU, cpu_gpu


def test_a_group_is_what_takes_equally_long_for_every_task():
    assert like_devices(cpu_gpu([(12, 10), (4, 4)])) == [(CPU,), (GPU,)]
    assert like_devices(cpu_gpu([(12, 12), (4, 4)])) == [(CPU, GPU)]
    assert like_devices(cpu_gpu([(None, 12)])) == [(CPU,), (GPU,)]


def test_groups_are_assigned_such_that_loads_are_even():
    # 12 on the CPU against 40 and 40: one CPU task leaves both with 12 and 20.
    problem = cpu_gpu([(12, 10), (40, 10), (40, 10)])
    assert assigned_groups(problem, 20) == [(CPU,), (GPU,), (GPU,)]
    placement = make_policy("getf").place(problem)
    assert placement.device_of == (CPU, GPU, GPU)
    assert simulate(problem, placement).makespan_ns == 20


def test_lanes_and_widths_are_load():
    # Four lanes take 60, 60 and 60 in the time that the GPU takes two of them.
    problem = cpu_gpu([(60, 20)] * 3, cpu_lanes=4)
    assert assigned_groups(problem, 20) == [(CPU,)] * 3
    wide = cpu_gpu([(60, 20)] * 3, cpu_lanes=4, widths=dict.fromkeys(range(3), (4, 1)))
    assert assigned_groups(wide, 20) == [(GPU,)] * 3


def test_within_a_group_the_earliest_start_decides():
    tasks = tuple(Task(f"t{i}", "Op", (10, 10)) for i in range(4))
    problem = Problem("two", (Device("a"), Device("b")), (), tasks, ())
    placement = make_policy("getf").place(problem)
    assert sorted(placement.device_of) == [0, 0, 1, 1]
    assert simulate(problem, placement).makespan_ns == 20


def test_data_that_is_far_away_makes_a_start_late():
    # Both take equally long everywhere; the copy of 50 makes the other device later.
    problem = cpu_gpu([(10, 10), (10, 10)], [(0, [1], 50)])
    assert len(set(make_policy("getf").place(problem).device_of)) == 1


def test_a_wide_task_waits_for_all_of_its_lanes():
    problem = cpu_gpu([(10, None), (5, None)], cpu_lanes=2, widths={1: (2, 1)})
    placement = make_policy("getf").place(replace(problem))
    assert placement.priority == (0, 1)
    assert simulate(problem, placement).makespan_ns == 15


def test_rounds_are_checked():
    with pytest.raises(ValueError, match="rounds must be >= 1, got 0"):
        make_policy("getf", rounds=0)
