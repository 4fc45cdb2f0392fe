"""How long a query holds each resource."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import Placement, Task, simulate
from surplus.placement.occupancy import Occupancy, bottleneck, effective_lanes, occupancy_ns
from surplus.placement.problem import Device
from surplus.placement.random_graphs import small_random
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on


def test_by_hand():
    """t0 on the CPU hands 30 bytes to t1 and t2 on the GPU, t2 answers with 7."""
    problem = cpu_gpu(
        [(100, 10), (100, 50), (100, 60)],
        [(-1, [0], 5), (0, [1, 2], 30), (2, [], 7, True)],
        cpu_lanes=2,
        gpu_lanes=4,
        latency_ns=1_000,
        occupancy_ns=2,
        widths={0: (2, 1)},
    )
    launches = tuple(replace(task, launch_ns=(0, 4)) for task in problem.tasks)
    gpu = replace(problem.devices[GPU], submit_ns=1, slowdown=(1.0, 1.25, 2.0, 4.0))
    problem = replace(problem, tasks=launches, devices=(problem.devices[CPU], gpu))
    assert occupancy_ns(problem, on([CPU, GPU, GPU])) == {
        "cpu": 100,  # both lanes for 100 ns
        "gpu": 69,  # 110 ns on what is worth 1.6 lanes
        "gpu submission": 10,
        "host->gpu": 32,  # one copy for both readers; its latency holds nothing
        "gpu->host": 9,
    }


def test_copies_of_pageable_memory_hold_the_submitting_thread():
    problem = cpu_gpu([(9, 1), (9, 1)], [(0, [1], 30), (1, [], 7, True)], latency_ns=5)
    links = tuple(replace(link, pageable=True) for link in problem.links)
    held = occupancy_ns(replace(problem, links=links), on([CPU, GPU]))
    assert held["gpu submission"] == 30 + 7


@pytest.mark.parametrize(
    ("lanes", "slowdown", "expected"),
    [(4, (), 4), (1, (1.0, 2.0), 1), (4, (1.0, 1.25), 3.2), (4, (1.0, 1.25, 3.0), 1.6)],
)
def test_lanes_that_slow_each_other_are_worth_fewer(lanes, slowdown, expected):
    assert effective_lanes(Device("gpu", lanes, "gpu", slowdown=slowdown)) == pytest.approx(
        expected
    )


def test_the_busiest():
    assert bottleneck({"b": 3, "a": 3, "c": 1}) == "a"


problems = st.builds(
    small_random, seed=st.integers(0, 2**32), task_count=st.integers(1, 20), device_count=st.just(3)
)


@given(problem=problems, seed=st.randoms())
@settings(max_examples=60)
def test_moves_add_up(problem, seed):
    able = [[d for d, t in enumerate(task.service_ns) if t is not None] for task in problem.tasks]
    occupancy = Occupancy(problem, [row[0] for row in able])
    for _ in range(30):
        task = seed.randrange(len(able))
        occupancy.move(task, seed.choice(able[task]))
    assert occupancy.load() == Occupancy(problem, occupancy.device_of).load()


@given(problem=problems)
@settings(max_examples=60)
def test_no_query_ends_before_its_busiest_resource_is_through(problem):
    devices = tuple(
        next(d for d, t in enumerate(task.service_ns) if t is not None) for task in problem.tasks
    )
    placement = Placement(devices, tuple(range(len(devices))), "first")
    held = occupancy_ns(problem, placement)
    # Rounded once, on both sides.
    assert simulate(problem, placement).makespan_ns >= max(held.values(), default=0) - 1


def test_many_copies_of_a_query_take_the_bottleneck_each():
    """The law: n queries in one problem take n times the bottleneck, and a little at both ends."""
    one = cpu_gpu([(10, None), (None, 40), (10, None)], [(0, [1], 4), (1, [2], 4)])
    count = 20
    tasks = tuple(
        Task(f"q{q} {t.name}", t.kind, t.service_ns, default_device=t.default_device)
        for q in range(count)
        for t in one.tasks
    )
    tensors = tuple(
        replace(
            x,
            name=f"q{q} {x.name}",
            producer=x.producer + 3 * q,
            consumers=tuple(c + 3 * q for c in x.consumers),
        )
        for q in range(count)
        for x in one.tensors
    )
    many = replace(one, tasks=tasks, tensors=tensors)
    devices = [CPU, GPU, CPU]
    held = occupancy_ns(one, on(devices))
    assert held[bottleneck(held)] == 40
    makespan_ns = simulate(many, on(devices * count)).makespan_ns
    assert count * 40 <= makespan_ns <= count * 40 + 10 + 4 + 4 + 10
