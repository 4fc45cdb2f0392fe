"""Clusters placed as one: what a segment of each device takes decides, not what its tasks do."""

from __future__ import annotations

from dataclasses import replace

from surplus.engine.segmentation.cluster_placement import cluster_problem, labels, placed
from surplus.engine.segmentation.clusters import clusters
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.policy import make_policy
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.simulator import simulate
from surplus.placement.validator import check

CPU, GPU = 0, 1
COUNT = 10


def problem(gpu_ns: int = 7_000) -> Problem:
    """A chain of tasks that take 3 us on the CPU, where each copy takes 10 us."""
    tasks = tuple(
        Task(f"t{i}", "Op", (3_000, gpu_ns), launch_ns=(0, gpu_ns), weight_bytes=4)
        for i in range(COUNT)
    )
    tensors = tuple(
        Tensor(f"v{i}", i, (i + 1,) if i + 1 < COUNT else (), 4, is_output=i + 1 == COUNT)
        for i in range(COUNT)
    )
    links = (Link("host", "gpu", 10_000), Link("gpu", "host", 10_000))
    return Problem("chain", (Device("cpu"), Device("gpu", 1, "gpu")), links, tasks, tensors)


def with_graphs(p: Problem, captured_ns: int) -> ServiceTimes:
    """The GPU takes so long for each task in a captured graph, but for the last two."""
    row = [captured_ns] * (COUNT - 2) + [None, None]
    return replace(ServiceTimes.of(p), captured_ns={GPU: row}, submit_ns={GPU: 5_000})


def test_tasks_that_other_devices_run_or_capture_have_other_labels() -> None:
    p = problem()
    only = replace(p.tasks[0], service_ns=(3_000, None))
    mixed = replace(p, tasks=(only, *p.tasks[1:]))
    found = labels(mixed, with_graphs(mixed, 100))
    assert found == [0] + [1] * (COUNT - 3) + [2, 2]


def test_a_cluster_that_a_graph_captures_goes_to_the_gpu_although_no_task_would() -> None:
    p = problem()
    service = with_graphs(p, captured_ns=100)
    policy = make_policy("heft")
    assert set(policy.place(p).device_of) == {CPU}
    cut = clusters(p, labels(p, service), 4)
    placement = placed(p, cut, service, policy.place)
    assert placement.device_of == (GPU,) * (COUNT - 2) + (CPU,) * 2
    check(p, placement, simulate(p, placement))


def test_clusters_carry_times_launches_and_constants_of_each_device() -> None:
    p = problem()
    service = with_graphs(p, captured_ns=100)
    graph = GroupGraph(p, [TaskGroup(tuple(range(COUNT - 2)), GPU), TaskGroup((8, 9), GPU)])
    first, last = cluster_problem(graph, service).tasks
    assert first.service_ns == (8 * 3_000 + 650, 8 * 100 + 650)
    assert first.launch_ns == (0, 0)
    assert last.service_ns == (2 * 3_000 + 650, 2 * 7_000 + 650)
    assert last.launch_ns == (0, 14_000)
    assert first.weight_bytes == 4 * (COUNT - 2)


def test_clusters_stay_where_they_can_run() -> None:
    p = problem(gpu_ns=1)
    host_only = tuple(replace(t, service_ns=(3_000, None)) for t in p.tasks[:3])
    p = replace(p, tasks=(*host_only, *p.tasks[3:]))
    service = ServiceTimes.of(p)
    placement = placed(p, clusters(p, labels(p, service), 4), service, make_policy("heft").place)
    assert placement.device_of[:3] == (CPU,) * 3
    check(p, placement, simulate(p, placement))
