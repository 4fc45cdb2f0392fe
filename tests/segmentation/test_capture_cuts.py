"""Segments keep the tasks that a GPU captures apart from the others, where that pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.engine.segmentation.clusters import Cluster
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.packing import pack
from surplus.engine.segmentation.segmenter import segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.widths import choose_widths
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor

GPU = 1
LAUNCHED_NS = 7_000
SUBMIT_NS = 5_000


def chain(count: int) -> Problem:
    """Tasks that follow each other, each a launch of the GPU."""
    tasks = tuple(
        Task(f"t{i}", "Op", (10**6, LAUNCHED_NS), launch_ns=(0, LAUNCHED_NS)) for i in range(count)
    )
    tensors = tuple(
        Tensor(f"v{i}", i, (i + 1,) if i + 1 < count else (), 4, is_output=i + 1 == count)
        for i in range(count)
    )
    links = (Link("host", "gpu", 100), Link("gpu", "host", 100))
    return Problem("chain", (Device("cpu"), Device("gpu", 1, "gpu")), links, tasks, tensors)


def service_of(problem: Problem, refused: tuple[int, ...]) -> ServiceTimes:
    """A graph's operators take 1 us each; the refused ones are never part of one."""
    row = [None if i in refused else 1_000 for i in range(len(problem.tasks))]
    return replace(ServiceTimes.of(problem), captured_ns={GPU: row}, submit_ns={GPU: SUBMIT_NS})


def each_alone(problem: Problem) -> GroupGraph:
    return GroupGraph(problem, [TaskGroup((i,), GPU) for i in range(len(problem.tasks))])


def tasks_of(graph: GroupGraph) -> list[tuple[int, ...]]:
    return [group.tasks for group in graph.groups]


def test_a_task_that_cannot_be_captured_does_not_cost_its_neighbours_their_graphs() -> None:
    problem = chain(9)
    service = service_of(problem, refused=(4,))
    chosen = choose_widths(each_alone(problem), service)
    assert tasks_of(chosen) == [(0, 1, 2, 3), (4,), (5, 6, 7, 8)]
    assert [service.is_captured(g.tasks, GPU) for g in chosen.groups] == [True, False, True]


def test_what_is_too_small_for_a_graph_of_its_own_is_launched_with_its_neighbours() -> None:
    problem = chain(4)
    # Capture saves 6 us of task 1; a submission on its own costs 5 us and two boundaries.
    row = [None, 6_500, None, None]
    service = replace(service_of(problem, (0, 2, 3)), captured_ns={GPU: row})
    assert tasks_of(choose_widths(each_alone(problem), service)) == [(0, 1, 2, 3)]


def test_without_a_device_that_captures_serial_groups_are_one() -> None:
    problem = chain(9)
    assert tasks_of(choose_widths(each_alone(problem), ServiceTimes.of(problem))) == [
        tuple(range(9))
    ]


def test_clusters_are_packed_with_those_of_their_kind() -> None:
    problem = chain(4)
    service = service_of(problem, refused=(1, 3))
    one_phase = [Cluster((i,), GPU, 0) for i in range(4)]
    packed = [group.tasks for group in pack(problem, one_phase, service)]
    assert sorted(packed) == [(0, 2), (1, 3)]


@pytest.mark.parametrize("refused", [(), (4,), tuple(range(9))])
def test_candidates_cut_where_capture_ends(refused: tuple[int, ...]) -> None:
    problem = chain(9)
    service = service_of(problem, refused)
    placement = Placement((GPU,) * 9, tuple(range(9)), "test")
    best = segment(problem, placement, service)[0]
    expected = {(): 1, (4,): 3}.get(refused, 1)
    assert len(best.graph.groups) == expected
    assert all(group.device == GPU for group in best.graph.groups)


def test_a_segment_of_few_operators_is_no_graph_where_that_would_not_pay() -> None:
    problem = chain(9)
    service = replace(service_of(problem, refused=(4,)), least_captured={GPU: 4})
    assert service.is_captured((0, 1, 2, 3), GPU)
    assert not service.is_captured((0, 1, 2), GPU)
    assert service.may_be_captured((0, 1, 2), GPU)
    assert not service.may_be_captured((3, 4), GPU)
    assert service.group_ns((0, 1, 2), GPU, 1) == service.uncaptured_ns((0, 1, 2), GPU)
    assert service.launches_ns((0, 1, 2), GPU) == 3 * LAUNCHED_NS
