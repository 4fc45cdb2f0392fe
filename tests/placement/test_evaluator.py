"""The native evaluator against the simulator in Python, which is its oracle."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import evaluator
from surplus.placement._evaluator import Evaluator
from surplus.placement.evaluator import compiled, makespan_ns, schedule
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception
from surplus.placement.simulator import SimulatorParams, simulate
from tests.placement.featured_problems import crowded, featured, placed
from tests.placement.hand_problems import CPU, GPU, copy_times, cpu_gpu, on, task_times

ORDERS = ["priority", "fifo"]


def agree(problem, placement, order="priority"):
    """Every time of every task and copy, and the makespan."""
    params = SimulatorParams(order)
    timeline = simulate(problem, placement, params)
    found = schedule(problem, placement, params)
    times = zip(*(a.tolist() for a in (found.ready_ns, found.start_ns, found.end_ns)), strict=True)
    assert list(times) == task_times(timeline)
    copies = [(row[0], problem.links[row[1]].name, *row[2:]) for row in found.copies.tolist()]
    assert sorted(copies) == sorted(copy_times(timeline))
    assert makespan_ns(problem, placement, params) == timeline.makespan_ns


@given(
    seed=st.integers(0, 2**32),
    task_count=st.integers(0, 40),
    device_count=st.integers(1, 4),
    order=st.sampled_from(ORDERS),
)
@settings(max_examples=300, deadline=None)
def test_small_problems_with_everything(seed, task_count, device_count, order):
    problem = featured(seed, task_count, device_count)
    agree(problem, placed(problem, seed), order)


@pytest.mark.parametrize("part", range(8))
def test_thousands_of_small_problems(part):
    random = Random(part)
    for _ in range(250):
        problem = featured(random.getrandbits(32), random.randint(1, 30), random.randint(1, 4))
        for order in ORDERS:
            agree(problem, placed(problem, random.getrandbits(32)), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_large_problems_with_everything(seed, order):
    problem = featured(seed, 1200, 4)
    agree(problem, placed(problem, seed), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(6))
def test_more_at_once_than_the_next_few_events(seed, order):
    # Of which 16 are looked at one by one, and the others are a heap.
    problem = crowded(seed, 500)
    agree(problem, placed(problem, seed), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("task_count", [1, 63, 64, 65, 128, 4096, 4097])
def test_words_of_ranks_and_words_of_those(task_count, order):
    # Who is ready is a bit in words of 64, of which so many tasks have one, two and three levels.
    random = Random(task_count)
    problem = cpu_gpu([(random.randint(0, 9), 1) for _ in range(task_count)], cpu_lanes=3)
    agree(problem, placed(problem, task_count), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "problem",
    [
        detector(1, DetectorParams(60, 6, 80, 11), MachineParams(4, 2, occupancy_ns=2_000)),
        inception(1, 110),
    ],
    ids=["detector", "inception"],
)
@pytest.mark.parametrize("streams", [False, True])
def test_realistic_graphs(problem, order, streams):
    if streams:
        gpu = replace(problem.devices[GPU], lanes=4, submit_ns=6_000, slowdown=(1.0, 1.3, 1.7))
        problem = replace(problem, devices=(problem.devices[CPU], gpu))
    for placement in (placed(problem, 7), make_policy("heft").place(problem)):
        agree(problem, placement, order)


def test_more_than_256_narrow_tasks_behind_a_wide_one():
    # The simulator looks at no more of them; of those behind, one that would fit waits, too.
    services = [(90, None), (50, None)] + [(99, None)] * 300 + [(5, None)]
    problem = cpu_gpu(services, cpu_lanes=2, widths={1: (2, 1)})
    for order in ORDERS:
        agree(problem, on([CPU] * len(services)), order)
    looked_at = replace(problem, tasks=(*problem.tasks[:250], problem.tasks[-1]))
    assert schedule(looked_at, on([CPU] * 251)).start_ns[-1] == 0
    assert schedule(problem, on([CPU] * 303)).start_ns[-1] > 0


def test_a_problem_without_tasks():
    assert makespan_ns(cpu_gpu([]), on([])) == 0
    assert schedule(cpu_gpu([]), on([])).copies.shape == (0, 5)


@pytest.mark.parametrize(
    ("placement", "named"),
    [
        (Placement((0,), (0,), "p"), "1 devices and 1 priorities for 2 tasks"),
        (Placement((0, 2), (0, 1), "p"), "'t1': device 2"),
        (Placement((0, -1), (0, 1), "p"), "'t1': device -1"),
        (Placement((0, 1), (0, 1), "p"), "'t1' cannot run on device 'gpu'"),
        (Placement((0, 0), (1, 1), "p"), "same priority"),
        (Placement((0, 0), (9, 9), "p"), "same priority"),
        (Placement((0, 0), (0, 2**63), "p"), "placement: "),
    ],
)
def test_a_placement_that_does_not_fit_is_refused_and_the_next_one_is_taken(placement, named):
    problem = cpu_gpu([(1, 1), (1, None)])
    with pytest.raises(ValueError, match=named):
        makespan_ns(problem, placement)
    agree(problem, on([GPU, CPU]))


def test_times_beyond_64_bits_are_refused_and_the_next_placement_is_taken():
    devices, most = [("cpu", 1, 0, 0, []), ("gpu", 1, 0, 0, [])], 2**62 - 1
    asked = Evaluator(
        **_rows(devices=devices, tasks=[("a", [most, 1], [], []), ("b", [3, 3], [], [])])
    )
    priority = np.array([0, 1])
    with pytest.raises(ValueError, match=r"2\^62"):
        asked.makespan_ns(np.array([CPU, CPU]), priority)
    assert asked.makespan_ns(np.array([GPU, GPU]), priority) == 4


@pytest.mark.parametrize("bytes_per_s", [1e-300, 1e-9])
def test_links_that_are_too_slow_are_refused_where_they_are_used(bytes_per_s):
    devices = [("cpu", 1, 0, 0, []), ("gpu", 1, 1, 0, [])]
    links = [(0, 1, 0, bytes_per_s, 0, None, False), (1, 0, 0, bytes_per_s, 0, None, False)]
    tasks = [("a", [1, 1], [], []), ("b", [1, 1], [], [])]
    tensors = [(0, [1], 1000, False)]
    asked = Evaluator(devices=devices, links=links, tasks=tasks, tensors=tensors)
    assert asked.makespan_ns(np.array([CPU, CPU]), np.array([0, 1])) == 2
    with pytest.raises(ValueError, match=r"2\^62|bytes_per_s"):
        asked.makespan_ns(np.array([CPU, GPU]), np.array([0, 1]))


def test_a_slow_down_without_end_is_refused():
    asked = Evaluator(**_rows(devices=[("cpu", 1, 0, 0, [float("inf")])], tensors=[]))
    with pytest.raises(ValueError, match=r"2\^62"):
        asked.makespan_ns(np.array([CPU, CPU]), np.array([0, 1]))


def test_numbers_beyond_64_bits_are_named():
    with pytest.raises(ValueError, match=r"service_ns .*2\^62"):
        Evaluator(**_rows(tasks=[("a", [2**62], [], []), ("b", [5], [], [])]))


def _rows(**changes):
    rows = {
        "devices": [("cpu", 1, 0, 0, [])],
        "links": [],
        "tasks": [("a", [5], [], []), ("b", [5], [], [])],
        "tensors": [(0, [1], 10, False)],
    }
    return {**rows, **changes}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"devices": []}, "at least one device"),
        ({"devices": [("cpu", 0, 0, 0, [])]}, "device 'cpu': lanes"),
        ({"devices": [("cpu", 1, 9, 0, [])]}, "device 'cpu': a memory"),
        ({"devices": [("cpu", 1, 0, -1, [])]}, "device 'cpu': submit_ns"),
        ({"devices": [("cpu", 1, 0, 0, [0.0])]}, "device 'cpu': slowdown"),
        ({"devices": [("cpu", 1, 0, 0, []), ("gpu", 1, 1, 0, [])]}, "no link from .*'cpu'"),
        ({"links": [(0, -1, 0, 1.0, 0, None, False)]}, "links: a memory"),
        ({"links": [(0, 1, -1, 1.0, 0, None, False)]}, "links: latency_ns"),
        ({"links": [(0, 1, 0, 0.0, 0, None, False)]}, "links: bytes_per_s"),
        ({"tasks": [("a", [5, 5], [], [])]}, "task 'a': .* for each place"),
        ({"homes": [0]}, "task 'a': .* for each place"),
        ({"homes": [1]}, "places: a device is unknown"),
        ({"tasks": [("a", [-5], [], [])]}, "task 'a': service_ns"),
        ({"tasks": [("a", [5], [2], [])]}, "task 'a': a width"),
        ({"tasks": [("a", [5], [], [-1])]}, "task 'a': launch_ns"),
        ({"tensors": [(2, [], 10, False)]}, "tensor 0: its producer"),
        ({"tensors": [(0, [2], 10, False)]}, "tensor 0: a consumer"),
        ({"tensors": [(1, [0], 10, False)]}, "tensor 0: a consumer"),
        ({"tensors": [(0, [1], -1, False)]}, "tensor 0: size_bytes"),
    ],
)
def test_rows_out_of_range_are_refused(changes, named):
    Evaluator(**_rows())
    with pytest.raises(ValueError, match=named):
        Evaluator(**_rows(**changes))


def test_arrays_are_asked_about_directly():
    problem = cpu_gpu([(4, 1), (6, 1)])
    asked = compiled(problem)
    priority = np.array([1, 0])
    assert asked.makespan_ns(np.array([0, 0]), priority) == 10
    assert asked.makespan_ns(np.array([0, 1]), priority, is_fifo=True) == 4
    priority[:] = 0
    with pytest.raises(ValueError, match="same priority"):
        asked.makespan_ns(np.array([0, 1]), priority)


def test_threads_may_ask_at_once():
    problem = featured(5, 300, 3)
    placements = [placed(problem, seed) for seed in range(40)]
    alone = [makespan_ns(problem, placement) for placement in placements]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            together = threads.map(lambda placement: makespan_ns(problem, placement), placements)
            assert list(together) == alone


def test_a_problem_is_read_once_and_forgotten_with_it():
    problem = Problem("p", (Device("cpu"),), (), (Task("a", "Op", (5,)),), (Tensor("x", 0, (), 1),))
    assert compiled(problem) is compiled(problem)
    assert compiled(pickle.loads(pickle.dumps(problem))) is not compiled(problem)
    identity = id(problem)
    assert identity in evaluator._compiled.made
    del problem
    gc.collect()
    assert identity not in evaluator._compiled.made
