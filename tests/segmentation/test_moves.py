"""Moves keep every task in exactly one acyclic group, and find the plans that they are for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.engine.segmentation.coarse import longest_tail_first, predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.moves import moves
from surplus.engine.segmentation.segmenter import segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.slabs import slabs
from surplus.placement.problem import Problem
from tests.segmentation.test_segmentation_groups import (
    fork_join,
    graph_problem,
    placed,
    random_graphs,
)


def _two_widths(problem: Problem) -> ServiceTimes:
    narrow = [task.service_ns[0] for task in problem.tasks]
    return ServiceTimes({(0, 1): narrow, (0, 2): [None if t is None else t // 2 for t in narrow]})


def _best(graph: GroupGraph, service: ServiceTimes, kind: str) -> int:
    found = [m for name, m in moves(graph, service) if name.startswith(kind)]
    return min(predict(m, service).makespan_ns for m in found)


@settings(max_examples=60)
@given(random_graphs(), st.integers(0, 5))
def test_every_move_keeps_every_task(case: tuple[Problem, list[int]], choice: int) -> None:
    problem, device_of = case
    service = ServiceTimes.of(problem)
    found = segment(problem, placed(problem, device_of), service)
    graph = found[choice % len(found)].graph
    device = {t: g.device for g in graph.groups for t in g.tasks}
    for _, moved in moves(graph, service):  # GroupGraph raises on a cycle
        assert {t: g.device for g in moved.groups for t in g.tasks} == device
        assert moved.groups != graph.groups


def test_a_whole_model_is_split_into_its_branches() -> None:
    problem = fork_join(branches=8, depth=3, grain_ns=10_000)
    whole = GroupGraph(problem, [TaskGroup(tuple(range(len(problem.tasks))), 0)])
    # As the best segmentation: head, 12 tasks on each lane, tail; a boundary each.
    assert _best(whole, ServiceTimes.of(problem), "split") == 10_650 + 120_650 + 10_650


def test_neighbours_are_merged() -> None:
    problem = graph_problem([(0, 1), (1, 2)], [1_000] * 3)
    cut = GroupGraph(problem, [TaskGroup((i,), 0) for i in range(3)])
    assert _best(cut, ServiceTimes.of(problem), "merge") == 3_000 + 2 * 650


def test_a_merge_around_another_group_is_left_out() -> None:
    # 0 -> 1 -> 2 and 0 -> 2: 0 and 2 cannot be one segment while 1 is another.
    problem = graph_problem([(0, 1), (1, 2), (0, 2)], [1_000] * 3)
    cut = GroupGraph(problem, [TaskGroup((i,), 0) for i in range(3)])
    merged = {g.tasks for name, m in moves(cut, ServiceTimes.of(problem)) for g in m.groups}
    assert (0, 1) in merged
    assert (0, 2) not in merged


def test_a_width_is_changed() -> None:
    problem = graph_problem([(0, 1)], [400_000, 1_000])
    cut = GroupGraph(problem, [TaskGroup((0,), 0), TaskGroup((1,), 0)])
    assert _best(cut, _two_widths(problem), "width 2") == 220_000 + 1_650


def test_uneven_lanes_are_balanced() -> None:
    problem = graph_problem([], [10_000] * 8)
    uneven = GroupGraph(problem, [TaskGroup((0, 1, 2, 3, 4, 5), 0), TaskGroup((6, 7), 0)])
    assert _best(uneven, ServiceTimes.of(problem), "balance") == 40_650


def test_the_longest_tail_goes_first() -> None:
    # Two short tasks and a chain of two, all ready at once on two lanes.
    problem = graph_problem([(2, 3)], [10_000, 10_000, 10_000, 20_000])
    cut = GroupGraph(problem, [TaskGroup((i,), 0) for i in range(4)])
    service = ServiceTimes.of(problem)
    order = longest_tail_first(cut, service)
    assert order.index(0) == 2
    assert predict(cut, service).makespan_ns == 40_650 + 2 * 650
    assert predict(cut, service, order=order).makespan_ns == 30_650 + 650


def test_slabs_cut_after_so_many_levels() -> None:
    # Two chains of four that exchange nothing.
    problem = graph_problem([(i, i + 2) for i in range(6)], [1] * 8)
    cut = slabs(problem, [0] * 8, 2)
    assert [(c.phase, c.tasks) for c in cut] == [(0, (0, 2)), (0, (1, 3)), (1, (4, 6)), (1, (5, 7))]


@settings(max_examples=60)
@given(random_graphs(), st.integers(1, 5))
def test_slabs_may_be_merged_within_a_phase(case: tuple[Problem, list[int]], depth: int) -> None:
    problem, device_of = case
    cut = slabs(problem, device_of, depth)
    phases: dict[tuple[int, int], list[int]] = {}
    for cluster in cut:
        phases.setdefault((cluster.phase, cluster.device), []).extend(cluster.tasks)
    # Raises on a cycle, or if a task is missing.
    GroupGraph(problem, [TaskGroup(tuple(sorted(t)), d) for (_, d), t in phases.items()])
