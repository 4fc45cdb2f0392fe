from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.engine.segmentation.clusters import clusters
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.packing import pack
from surplus.engine.segmentation.segmenter import per_task, segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.widths import choose_widths
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.validator import check
from tests.counted_calls import LINEAR, calls_of


def graph_problem(
    edges: list[tuple[int, int]], times: list[int], lanes: int = 2, devices: int = 1
) -> Problem:
    """A problem with one tensor per producer; device 0 is a CPU, device 1 a GPU."""
    machine = [Device("cpu", lanes), Device("gpu", 1, "gpu")][:devices]
    links = (Link("host", "gpu", 100), Link("gpu", "host", 100)) if devices == 2 else ()
    tasks = [Task(f"t{i}", "Op", (time,) * devices) for i, time in enumerate(times)]
    tensors = []
    for i in range(len(times)):
        consumers = tuple(sorted({b for a, b in edges if a == i}))
        tensors.append(Tensor(f"v{i}", i, consumers, 10, is_output=not consumers))
    return Problem("test", tuple(machine), links, tuple(tasks), tuple(tensors))


def placed(problem: Problem, device_of: list[int]) -> Placement:
    return Placement(tuple(device_of), tuple(range(len(problem.tasks))), "test")


def fork_join(branches: int, depth: int, grain_ns: int) -> Problem:
    edges, last = [], 0
    for branch in range(branches):
        first = 1 + branch * depth
        edges += [(0, first), *((first + k, first + k + 1) for k in range(depth - 1))]
    last = 1 + branches * depth
    edges += [(b * depth + depth, last) for b in range(branches)]
    return graph_problem(edges, [grain_ns] * (last + 1))


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[Problem, list[int]]:
    seed = draw(st.integers(0, 10_000))
    rng = random.Random(seed)
    count = rng.randint(1, 40)
    edges = [(a, b) for b in range(count) for a in range(b) if rng.random() < 2.0 / (b - a + 1) / 2]
    devices = rng.choice([1, 2])
    problem = graph_problem(
        edges, [rng.randint(100, 50_000) for _ in range(count)], rng.randint(1, 4), devices
    )
    return problem, [rng.randrange(devices) for _ in range(count)]


@settings(max_examples=150)
@given(random_graphs(), st.integers(2, 9), st.integers(1, 3))
def test_clusters_partition_the_tasks_and_stay_acyclic(
    case: tuple[Problem, list[int]], fan: int, per_lane: int
) -> None:
    problem, device_of = case
    cut = clusters(problem, device_of, fan)
    assert sorted(t for c in cut for t in c.tasks) == list(range(len(problem.tasks)))
    assert all(device_of[t] == c.device for c in cut for t in c.tasks)
    service = ServiceTimes.of(problem)
    packed = GroupGraph(problem, pack(problem, cut, service, per_lane))  # raises on a cycle
    chosen = choose_widths(packed, service)
    assert sorted(t for g in chosen.groups for t in g.tasks) == list(range(len(problem.tasks)))


@settings(max_examples=60)
@given(random_graphs())
def test_every_candidate_prediction_is_a_valid_schedule(case: tuple[Problem, list[int]]) -> None:
    problem, device_of = case
    from surplus.engine.segmentation.coarse import coarse_problem

    service = ServiceTimes.of(problem)
    candidates = segment(problem, placed(problem, device_of), service)
    assert candidates
    spans = [c.predicted.makespan_ns for c in candidates]
    assert spans == sorted(spans)
    for candidate in candidates:
        check(*coarse_problem(candidate.graph, service), candidate.predicted)
    if len(set(device_of)) == 1:
        assert any(c.is_trivial for c in candidates)


def test_a_fork_join_becomes_one_group_per_lane_between_head_and_tail() -> None:
    problem = fork_join(branches=8, depth=3, grain_ns=10_000)
    best = segment(problem, placed(problem, [0] * len(problem.tasks)), ServiceTimes.of(problem))[0]
    # Head, two lanes of four branches each, tail.
    assert [len(g.tasks) for g in best.graph.groups] == [1, 12, 12, 1]
    # 10 µs head, 12 tasks of 10 µs on each lane, 10 µs tail, 0.65 µs for each boundary.
    assert best.predicted.makespan_ns == 10_650 + 120_650 + 10_650


def test_a_linear_chain_stays_whole() -> None:
    problem = graph_problem([(i, i + 1) for i in range(9)], [5_000] * 10)
    best = segment(problem, placed(problem, [0] * 10), ServiceTimes.of(problem))[0]
    assert best.is_trivial


def test_branches_too_small_for_a_boundary_are_collapsed() -> None:
    problem = fork_join(branches=4, depth=1, grain_ns=50)
    best = segment(problem, placed(problem, [0] * len(problem.tasks)), ServiceTimes.of(problem))[0]
    assert best.is_trivial


def test_a_heavy_serial_phase_takes_all_lanes_and_a_wide_phase_one_each() -> None:
    # One heavy task that scales 2x on two lanes, then two branches that do not scale.
    problem = graph_problem([(0, 1), (0, 2), (1, 3), (2, 3)], [100_000, 40_000, 40_000, 1_000])
    narrow = [t.service_ns[0] for t in problem.tasks]
    service = ServiceTimes({(0, 1): narrow, (0, 2): [50_000, 40_000, 40_000, 1_000]})
    best = segment(problem, placed(problem, [0] * 4), service)[0]
    assert [g.width for g in best.graph.groups] == [2, 1, 1, 1]
    # The wide segment costs 20 µs to start, the others 0.65 µs.
    assert best.predicted.makespan_ns == 70_000 + 40_650 + 1_650


def test_device_boundaries_always_cut() -> None:
    problem = graph_problem([(0, 1), (1, 2)], [1_000] * 3, devices=2)
    graph = segment(problem, placed(problem, [0, 1, 0]), ServiceTimes.of(problem))[0].graph
    assert [g.device for g in graph.groups] == [0, 1, 0]


def test_per_task_cuts_everywhere() -> None:
    problem = fork_join(3, 2, 100)
    graph = per_task(problem, placed(problem, [0] * len(problem.tasks)))
    assert len(graph.groups) == len(problem.tasks)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([(0,)], "'t1' is in no group"),
        ([(0, 1), (1, 2)], "'t1' is in two groups"),
        ([(0, 2), (1,)], "cycle"),  # t0 -> t1 -> t2: the group of t0 and t2 is not convex
    ],
)
def test_bad_groups_are_refused(groups: list[tuple[int, ...]], message: str) -> None:
    problem = graph_problem([(0, 1), (1, 2)], [1] * 3)
    with pytest.raises(ValueError, match=message):
        GroupGraph(problem, [TaskGroup(tasks, 0) for tasks in groups])


def test_a_fan_below_two_is_refused() -> None:
    with pytest.raises(ValueError, match="fan must be >= 2, got 1"):
        clusters(graph_problem([], [1]), [0], 1)


def _comparable_with_all(graph: GroupGraph) -> list[bool]:
    """By following every path."""
    count = len(graph.groups)
    before: list[set[int]] = []
    for row in graph.predecessors:
        before.append(set(row).union(*(before[other] for other in row)))
    return [
        all(a in before[b] or b in before[a] for b in range(count) if b != a) for a in range(count)
    ]


@given(random_graphs())
def test_serial_groups_are_comparable_with_every_other_one(
    made: tuple[Problem, list[int]],
) -> None:
    problem, device_of = made
    graph = per_task(problem, placed(problem, device_of))
    assert list(graph.serial) == _comparable_with_all(graph)


def _stretches_of(length: int) -> tuple[int, int]:
    """Calls and most bytes that it takes to find what is serial in a chain of groups."""
    problem = graph_problem([(i, i + 1) for i in range(length - 1)], [1] * length)
    graph = per_task(problem, placed(problem, [0] * length))
    tracemalloc.start()
    try:
        calls = calls_of(graph.stretches)
        return calls, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_stretches_of_twice_the_groups_are_twice_the_work_and_memory() -> None:
    (calls, peak), (twice_calls, twice_peak) = _stretches_of(1500), _stretches_of(3000)
    assert twice_calls < LINEAR * calls
    assert twice_peak < LINEAR * peak


def _widths_of(regions: int) -> int:
    """Calls that it takes to choose widths in a chain of regions of three branches each."""
    edges = []
    for region in range(regions):
        first = region * 4
        edges += [(first, first + k) for k in (1, 2, 3)]
        edges += [(first + k, first + 4) for k in (1, 2, 3)]
    count = regions * 4 + 1
    problem = graph_problem(edges, [1000] * count)
    graph = per_task(problem, placed(problem, [0] * count))
    service = ServiceTimes.of(problem)
    return calls_of(lambda: choose_widths(graph, service))


def test_widths_of_twice_the_regions_are_twice_the_work() -> None:
    assert _widths_of(80) < LINEAR * _widths_of(40)
