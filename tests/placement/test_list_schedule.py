"""Native ranks, tables and list schedules against those in Python, which are their oracles."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import Device, Problem, Task, Tensor
from surplus.placement.evaluator import compiled
from surplus.placement.random_graphs import DetectorParams, detector, inception
from tests.placement import list_twin
from tests.placement.featured_problems import featured, placed
from tests.placement.hand_problems import cpu_gpu

CHOICES = ["least", "fastest", "readers"]


def agree(problem, seed, choice):
    """Ranks, tables, and the list schedules that policies make of them."""
    asked = compiled(problem)
    ranks, home_ns = asked.mean_upward_ranks(), asked.ways_home_ns()
    costs_ns = asked.optimistic_costs_ns()
    times_ns = [[-1 if t is None else t for t in task.service_ns] for task in problem.tasks]
    assert asked.services_ns().tolist() == times_ns
    assert ranks.tolist() == list_twin.mean_upward_ranks(problem)
    assert home_ns.tolist() == list_twin.ways_home_ns(problem)
    assert costs_ns.tolist() == list_twin.optimistic_costs_ns(problem)
    finishes_ns, ratios, readers_ns = asked.hoft_tables()
    expected = list_twin.optimistic_finishes_ns(problem)
    assert finishes_ns.tolist() == expected
    assert ratios.tolist() == list_twin.ratio_ranks(problem, expected)
    assert readers_ns.tolist() == list_twin.readers_ns(problem, expected)
    device_of = placed(problem, seed).device_of
    on_devices = asked.upward_ranks_ns(np.array(device_of, np.int64))
    assert on_devices.tolist() == list_twin.upward_ranks_ns(problem, device_of)
    shuffled = np.random.default_rng(seed).permutation(len(problem.tasks)).astype(float)
    lists = [(ranks, home_ns), (ranks, costs_ns), (ratios, readers_ns), (shuffled, home_ns)]
    for order, ahead_ns in lists:
        found = asked.list_schedule(order, ahead_ns, choice)
        expected = list_twin.list_schedule(problem, order.tolist(), ahead_ns.tolist(), choice)
        assert [numbers.tolist() for numbers in found] == list(expected)
        if choice != "readers":
            found = asked.list_schedule(order, ahead_ns, choice, has_links=True)
            rules = (order.tolist(), ahead_ns.tolist(), choice, True)
            expected = list_twin.list_schedule(problem, *rules)
            assert [numbers.tolist() for numbers in found] == list(expected)


@given(
    seed=st.integers(0, 2**32),
    task_count=st.integers(0, 30),
    device_count=st.integers(1, 4),
    choice=st.sampled_from(CHOICES),
)
@settings(max_examples=150, deadline=None)
def test_small_problems_with_everything(seed, task_count, device_count, choice):
    agree(featured(seed, task_count, device_count), seed, choice)


@pytest.mark.parametrize("choice", CHOICES)
def test_many_small_problems(choice):
    random = Random(choice)
    for _ in range(60):
        problem = featured(random.getrandbits(32), random.randint(1, 30), random.randint(1, 4))
        agree(problem, random.getrandbits(32), choice)


@pytest.mark.parametrize("choice", ["least", "fastest"])
def test_large_problems(choice):
    agree(featured(3, 900, 2), 5, choice)
    agree(inception(2, 90), 5, choice)
    agree(detector(2, DetectorParams(40, 3, 60, 6)), 5, choice)


def test_more_gaps_than_one_chunk_holds():
    # 400 gaps of 5 ns, then tasks that fill them from the first one on, and some that none holds.
    problem = gaps(400, fillers=(2, 3, 9))
    asked, order = compiled(problem), list(range(len(problem.tasks), 0, -1))
    home_ns = asked.ways_home_ns()
    _, starts_ns = found = asked.list_schedule(np.array(order, float), home_ns)
    expected = list_twin.list_schedule(problem, order, home_ns.tolist(), "least")
    assert [numbers.tolist() for numbers in found] == list(expected)
    assert starts_ns[-1] > 6 * 400 > starts_ns[-3]


def test_ranks_and_costs_must_be_of_the_problem():
    asked = compiled(cpu_gpu([(1, 2), (3, None)]))
    ranks, home_ns = asked.mean_upward_ranks(), asked.ways_home_ns()
    with pytest.raises(ValueError, match="a rank is needed for each task"):
        asked.list_schedule(ranks[:1], home_ns)
    with pytest.raises(ValueError, match="a number for each task and device"):
        asked.list_schedule(ranks, home_ns[:1])
    with pytest.raises(ValueError, match=r"choice must be .*'best'"):
        asked.list_schedule(ranks, home_ns, "best")
    with pytest.raises(ValueError, match="readers are looked at without links only"):
        asked.list_schedule(ranks, home_ns, "readers", has_links=True)
    with pytest.raises(ValueError, match="'t1' may run on no device"):
        asked.list_schedule(ranks, np.array([[0, 0], [-1, 5]]))
    with pytest.raises(ValueError, match="'t1' cannot run on device 1"):
        asked.upward_ranks_ns(np.array([0, 1]))
    with pytest.raises(ValueError, match="1 devices for 2 tasks"):
        asked.upward_ranks_ns(np.array([0]))


def test_copies_wait_for_each_other_where_that_is_asked_for():
    # Two inputs of 10 each: one after the other, the reader starts at 20.
    problem = cpu_gpu([(None, 5)], [(-1, [0], 10), (-1, [0], 10)])
    asked = compiled(problem)
    rules = asked.mean_upward_ranks(), asked.ways_home_ns()
    assert asked.list_schedule(*rules)[1].tolist() == [10]
    assert asked.list_schedule(*rules, has_links=True)[1].tolist() == [20]


def gaps(count, fillers=(9,)):
    """As many gaps of 5 ns on one lane as tasks, then as many tasks of each of some lengths.

    Tasks of the first half run on a device that has other work, each a little later than before.
    """
    devices = (Device("a"), Device("b"))
    early = [Task(f"e{i}", "Op", (6, None)) for i in range(count)]
    late = [Task(f"l{i}", "Op", (None, 1), default_device=1) for i in range(count)]
    rest = [
        Task(f"f{i}", "Op", (None, fillers[i % len(fillers)]), default_device=1)
        for i in range(count * len(fillers))
    ]
    edges = tuple(Tensor(f"x{i}", i, (count + i,), 0) for i in range(count))
    return Problem("gaps", devices, (), tuple(early + late + rest), edges)
