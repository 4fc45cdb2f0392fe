from dataclasses import replace

import pytest

from surplus.placement import InfeasibleError, make_policy, validate
from surplus.placement.occupancy import busiest_of
from surplus.placement.periodic import periodic_schedule
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.random_graphs import MachineParams, detector, inception, small_random
from tests.placement.featured_problems import featured, placed


def _unslowed(problem: Problem) -> Problem:
    """The validator wants the lanes busy from the first query on, where they slow each other."""
    return replace(problem, devices=tuple(replace(d, slowdown=()) for d in problem.devices))


def _narrow(problem: Problem) -> Problem:
    return replace(problem, tasks=tuple(replace(task, widths=()) for task in problem.tasks))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_queries_that_overlap_break_no_rule(first: int) -> None:
    for seed in range(first, first + 100):
        problem = _unslowed(featured(seed, 2 + seed % 9))
        placement = placed(problem, seed)
        found = periodic_schedule(problem, placement)
        _, load_ns = busiest_of(problem, placement)
        assert found.interval_ns >= load_ns == found.load_ns
        turns = max(groups.count for groups in found.groups.values())
        timeline = found.unrolled(found.in_flight + turns + 1)
        assert validate(problem, placement, timeline) == []


def test_the_load_is_attained_where_nothing_holds_two_resources() -> None:
    for seed in range(200):
        problem = _narrow(small_random(seed, 3 + seed % 9))
        placement = placed(problem, seed)
        found = periodic_schedule(problem, placement, slack=0.0)
        assert found.interval_ns == max(1, found.load_ns)


@pytest.mark.parametrize(
    "problem",
    [detector(3), detector(4, machine=MachineParams(cpu_lanes=3, gpu_lanes=2)), inception(5, 12)],
    ids=lambda problem: problem.name,
)
def test_balanced_nets_come_within_two_hundredths_of_their_load(problem: Problem) -> None:
    placement = make_policy("balance").place(problem)
    found = periodic_schedule(problem, placement)
    assert found.load_ns <= found.interval_ns <= 1.021 * found.load_ns
    assert found.in_flight > 1
    assert validate(problem, placement, found.unrolled(2 * found.in_flight)) == []


def _kept_on_the_gpu(memory_bytes: int | None) -> Problem:
    """``x`` lies on the GPU for as long as the CPU computes beside it."""
    devices = (Device("cpu"), Device("gpu", 1, "gpu", memory_bytes))
    links = (Link("host", "gpu", 1), Link("gpu", "host", 1))
    tasks = (
        Task("make", "Op", (None, 10), default_device=1),
        Task("long", "Op", (100, None)),
        Task("join", "Op", (None, 10), default_device=1),
    )
    tensors = (Tensor("x", 0, (1, 2), 100), Tensor("y", 1, (2,), 4))
    return Problem("kept", devices, links, tasks, tensors)


def test_memory_bounds_how_many_queries_are_there_at_once() -> None:
    placement = Placement((1, 0, 1), (0, 1, 2), "hand")
    intervals_ns = []
    for memory_bytes in (None, 150):
        problem = _kept_on_the_gpu(memory_bytes)
        found = periodic_schedule(problem, placement)
        assert validate(problem, placement, found.unrolled(5)) == []
        intervals_ns.append(found.interval_ns)
    assert intervals_ns[0] == 100 < intervals_ns[1]
    with pytest.raises(InfeasibleError):
        periodic_schedule(_kept_on_the_gpu(50), placement)


def test_slack_buys_latency() -> None:
    problem = detector(7)
    placement = make_policy("balance").place(problem)
    least, best = (periodic_schedule(problem, placement, slack) for slack in (0.0, 0.5))
    assert best.latency_ns <= least.latency_ns
    assert least.interval_ns <= best.interval_ns <= 1.5 * least.interval_ns
