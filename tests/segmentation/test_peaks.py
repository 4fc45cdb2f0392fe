"""What segments need of a limited memory, beside what their tasks need one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup, crossing
from surplus.engine.segmentation.peaks import bytes_within, excesses
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Link, Problem, Task, Tensor

CPU, GPU = 0, 1
WEIGHT = 1_000


def chain(sizes: list[int], limit: int | None = None) -> Problem:
    """Tasks one after another; each makes a tensor of so many bytes, the last one the output."""
    count = len(sizes)
    tasks = tuple(Task(f"t{i}", "Op", (100, 100), weight_bytes=WEIGHT) for i in range(count))
    tensors = tuple(
        Tensor(f"v{i}", i, (i + 1,) if i + 1 < count else (), size, is_output=i + 1 == count)
        for i, size in enumerate(sizes)
    )
    devices = (Device("cpu"), Device("gpu", 1, "gpu", limit))
    links = (Link("host", "gpu", 10), Link("gpu", "host", 10))
    return Problem("chain", devices, links, tasks, tensors)


def test_within_a_segment_tensors_are_there_from_their_making_to_their_last_use() -> None:
    problem = chain([10, 20, 40, 80])
    # 10 and 20 while the second runs, 20 and 40 while the third does; 80 leaves the segment.
    assert bytes_within(problem, [0, 1, 2, 3]) == 60
    assert bytes_within(problem, [0, 1]) == 10
    assert bytes_within(problem, [2]) == 0


def test_a_tensor_that_nobody_reads_is_there_while_its_task_runs() -> None:
    problem = chain([10, 20])
    dead = replace(problem, tensors=(*problem.tensors, Tensor("dead", 1, (), 30)))
    assert bytes_within(dead, [0, 1]) == 40


@pytest.mark.parametrize(
    ("groups", "needs"),
    [
        ([(0, 1, 2)], 3 * WEIGHT + 30 + 40),
        # The second reads 20, which is there until it ends, and makes 40.
        ([(0, 1), (2,)], 3 * WEIGHT + 20 + 40),
        ([(0,), (1,), (2,)], 3 * WEIGHT + 20 + 40),
    ],
)
def test_the_peak_of_a_cut_counts_constants_tensors_between_and_within(
    groups: list[tuple[int, ...]], needs: int
) -> None:
    for limit, fits in ((needs, True), (needs - 1, False)):
        problem = chain([10, 20, 40], limit)
        graph = GroupGraph(problem, [TaskGroup(tasks, GPU) for tasks in groups])
        service = ServiceTimes.of(problem)
        found = list(excesses(graph, service, predict(graph, service)))
        assert (not found) == fits
        assert fits or "memory 'gpu' needs" in found[0]


def test_copies_count_in_both_memories() -> None:
    problem = chain([10, 20, 40], 2 * WEIGHT + 10 + 20)
    service = ServiceTimes.of(problem)
    graph = GroupGraph(problem, [TaskGroup((0,), GPU), TaskGroup((1,), GPU), TaskGroup((2,), CPU)])
    assert not list(excesses(graph, service, predict(graph, service)))
    tight = replace(
        problem, devices=(problem.devices[0], replace(problem.devices[1], memory_bytes=2_029))
    )
    graph = GroupGraph(tight, graph.groups)
    assert list(excesses(graph, service, predict(graph, service)))


def test_crossing_tensors_are_those_taken_over_and_handed_on() -> None:
    problem = chain([1, 1, 1, 1])
    assert crossing(problem, [0, 1, 2, 3]) == 1
    assert crossing(problem, [1, 2]) == 2
    join = replace(problem, tasks=(*problem.tasks[:3], replace(problem.tasks[3], kind="Concat")))
    extra = Tensor("w", 1, (3,), 1)
    assert crossing(replace(join, tensors=(*join.tensors, extra)), [1, 2]) == 2
    assert crossing(replace(problem, tensors=(*problem.tensors, extra)), [1, 2]) == 3


def test_crossing_costs_what_the_device_says() -> None:
    problem = chain([1, 1, 1, 1])
    plain = ServiceTimes.of(problem)
    dear = replace(plain, tensor_ns={CPU: 7}, problem=problem)
    assert dear.group_ns([1, 2], CPU, 1) == plain.group_ns([1, 2], CPU, 1) + 14
    assert dear.group_ns([1, 2], GPU, 1) == plain.group_ns([1, 2], GPU, 1)


def test_segments_and_operators_cost_more_in_a_plan_where_the_device_says_so() -> None:
    problem = chain([1, 1, 1, 1])
    plain = ServiceTimes.of(problem)
    cold = replace(plain, segment_ns={CPU: 100}, operator_ns={CPU: 3})
    assert cold.group_ns([1, 2], CPU, 1) == plain.group_ns([1, 2], CPU, 1) + 106
    assert cold.group_ns([1, 2], GPU, 1) == plain.group_ns([1, 2], GPU, 1)
    alone_ns = plain.task_ns[CPU, 1][1]
    assert alone_ns is not None
    assert cold.operator_in_plan_ns(1, CPU) == alone_ns + 3
    assert cold.operator_in_plan_ns(1, GPU) == plain.task_ns[GPU, 1][1]
