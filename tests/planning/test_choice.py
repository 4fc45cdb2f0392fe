"""Which plans are compared first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surplus import models
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.planning.candidates import all_candidates
from surplus.engine.planning.first_plans import affordable, first_plans, whole_models
from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.policy import keeps_devices, make_policy
from surplus.placement.problem import Device, Link
from tests.pipeline.tuning_world import BRANCH_NS, GUESS, PROBLEM, cut

MS = 1_000_000


@pytest.fixture(scope="module")
def lenet_graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Stands for any graph whose batch is not split: the placement uses two devices."""
    folder: Path = tmp_path_factory.mktemp("lenet")
    return read(models.save(models.build("lenet"), folder / "lenet.onnx"), folder / "cache")


def _names(plans: list[Candidate]) -> list[str]:
    return [plan.name for plan in plans]


def test_whole_models_come_first_and_one_cut_of_each_kind() -> None:
    names = _names(first_plans(cut(GUESS), 4))
    assert names[:2] == ["whole x1", "whole x2"]
    kinds = [name.rpartition(" ")[0] for name in names[2:]]
    assert len(kinds) == 3
    assert len(set(kinds)) == 3


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [
        # Narrow 28.1 ms, wide 14.1 ms, the cuts 14.1 ms; each is run four times at least.
        (0, ["whole x2", "cut"]),
        (2 * 4 * 15, ["whole x2", "cut"]),
        (3 * 4 * 15, ["whole x2", "cut", "cut"]),
        (3 * 4 * 15 + 4 * 29, ["whole x1", "whole x2", "cut", "cut"]),
    ],
)
def test_long_queries_leave_time_for_few(time_ms: int, expected: list[str]) -> None:
    plans = affordable(first_plans(cut(GUESS), 3), time_ms * MS)
    assert [p.name if p.is_trivial else "cut" for p in plans] == expected


def test_whole_models_of_about_equal_times_are_all_compared() -> None:
    narrow = GUESS.task_ns[0, 1]
    even = ServiceTimes({(0, 1): narrow, (0, 2): [round(ns * 0.7) for ns in narrow if ns]})
    assert _names(affordable(first_plans(cut(even), 3), 0)) == ["whole x1", "whole x2"]


def _beside_a_gpu(gpu_ns: int | None, first_ns: int | None) -> Costs:
    """The world's problem with a GPU that takes so long for each task, and for the first one."""
    tasks = tuple(
        replace(t, service_ns=(*t.service_ns, gpu_ns if i else first_ns))
        for i, t in enumerate(PROBLEM.tasks)
    )
    links = (Link("host", "gpu", 1_000), Link("gpu", "host", 1_000))
    devices = (*PROBLEM.devices, Device("gpu", 1, "gpu"))
    two = replace(PROBLEM, devices=devices, links=links, tasks=tasks)
    return Costs(two, ServiceTimes.of(two))


@pytest.mark.parametrize(
    ("gpu_ns", "first_ns", "expected"),
    [
        (7, None, ["whole x1"]),  # the first task cannot run there
        (700_000, 700_000, ["whole x1", "whole x1 on gpu"]),
        (7, 7, ["whole x1 on gpu"]),  # all of it on the CPU would take far longer
        (BRANCH_NS * 9, 1, ["whole x1"]),
    ],
)
def test_whole_models_of_devices_that_may_do_best(
    gpu_ns: int, first_ns: int | None, expected: list[str]
) -> None:
    assert _names(whole_models(_beside_a_gpu(gpu_ns, first_ns))) == expected


def _on_both(costs: Costs) -> Placement:
    count = len(costs.problem.tasks)
    return Placement(tuple(i % 2 for i in range(count)), tuple(range(count)), "by hand")


def test_a_bad_placement_competes_with_whole_models_and_placed_clusters(
    lenet_graph: Graph,
) -> None:
    costs = _beside_a_gpu(700_000, 700_000)
    placement = _on_both(costs)
    given = all_candidates(lenet_graph, costs, placement)
    assert {tuple(sorted({g.device for g in c.graph.groups})) for c in given} == {(0, 1)}
    found = all_candidates(lenet_graph, costs, placement, make_policy("heft").place)
    assert _names(found)[:2] == ["whole x1", "whole x1 on gpu"]
    assert any("placed" in name for name in _names(found))
    first = affordable(first_plans(found, 3), 1_000 * MS)
    best_whole = min(c.predicted.makespan_ns for c in first if c.is_trivial)
    best = min(c.predicted.makespan_ns for c in first)
    assert best < best_whole
    assert best < min(c.predicted.makespan_ns for c in given)


@pytest.mark.parametrize("gpu_ns", [7, 700_000, 7_000_000])
def test_a_policy_that_keeps_devices_gets_no_plan_of_others(
    lenet_graph: Graph, gpu_ns: int
) -> None:
    costs = _beside_a_gpu(gpu_ns, gpu_ns)
    on_gpu = tuple(replace(task, default_device=1) for task in costs.problem.tasks)
    costs = replace(costs, problem=replace(costs.problem, tasks=on_gpu))
    place = make_policy("single").place
    found = all_candidates(
        lenet_graph, costs, place(costs.problem), place, keeps_devices=keeps_devices("single")
    )
    assert "whole x1" in _names(found)
    assert {group.device for plan in found for group in plan.graph.groups} == {1}
