"""Where segments go whose device is gone, and what becomes of copies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus import models
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.moved_plan import moved_plan
from surplus.engine.segmentation.plan import Plan
from tests.constant_costs import plan_in_turns

LENGTH = 12
KINDS = {
    "cpu": "cpu",
    "emulated:a": "gpu",
    "emulated:b": "gpu",
    "emulated:c": "gpu",
    "emulated:old": "old gpu",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("moved")
    path = models.save(models.build("chain", length=LENGTH, size=8), folder / "chain.onnx")
    return read_model(path, folder / "cache")


def plan_on(graph: Graph, *devices: str) -> Plan:
    return plan_in_turns(graph, LoadParams(devices=",".join(devices)).specs())


def places(plan: Plan) -> list[str]:
    return [plan.devices[segment.device] for segment in plan.segments]


def check_copies(plan: Plan) -> None:
    """Each tensor comes to each memory once, and from where it was made."""
    made = {name: s.device for s in plan.segments for name in s.outputs}
    reached = {(name, plan.memories[device]) for name, device in made.items()}
    for copy in plan.copies:
        assert plan.memories[copy.source] == plan.memories[made.get(copy.tensor, 0)]
        assert (copy.tensor, plan.memories[copy.target]) not in reached
        reached.add((copy.tensor, plan.memories[copy.target]))
    for segment in plan.segments:
        for name in set(segment.inputs) & set(made):
            assert (name, plan.memories[segment.device]) in reached


def test_on_the_cpu_alone_nothing_is_copied(graph: Graph) -> None:
    plan = moved_plan(plan_on(graph, "cpu:2", "emulated:a"), {"cpu": 2}, KINDS)
    assert plan.devices == ("cpu",)
    assert plan.copies == ()
    assert {segment.width for segment in plan.segments} == {1}
    assert not any(segment.captured for segment in plan.segments)


def test_a_plan_of_one_segment_gets_all_lanes(graph: Graph) -> None:
    plan = plan_on(graph, "cpu:2", "emulated:a")
    (only,) = moved_plan(replace(plan, segments=plan.segments[:1]), {"cpu": 2}, {}).segments
    assert (only.device, only.width) == (0, 2)


@pytest.mark.parametrize("gone", ["emulated:a", "emulated:b"])
def test_another_device_of_the_kind_takes_the_segments(graph: Graph, gone: str) -> None:
    plan = plan_on(graph, "cpu:1", "emulated:a", "emulated:b")
    other = next(name for name in plan.devices[1:] if name != gone)
    moved = moved_plan(plan, {"cpu": 1, other: 1}, KINDS)
    assert moved.devices == ("cpu", other)
    assert places(moved) == [other if name == gone else name for name in places(plan)]
    assert [s.captured for s in moved.segments] == [s.captured for s in plan.segments]
    check_copies(moved)
    assert 0 < len(moved.copies) < len(plan.copies)
    assert len(moved.predicted.spans) == 0


def test_of_several_the_one_with_least_to_do(graph: Graph) -> None:
    plan = plan_on(graph, "cpu:1", "emulated:a", "emulated:b", "emulated:c")
    busy = plan.devices.index("emulated:b")
    segments = tuple(
        replace(s, service_ns=50_000) if s.device == busy else s for s in plan.segments
    )
    left = {"cpu": 1, "emulated:b": 1, "emulated:c": 1}
    moved = moved_plan(replace(plan, segments=segments), left, KINDS)
    assert places(moved).count("emulated:c") == 2 * places(plan).count("emulated:c")
    check_copies(moved)


def test_a_device_of_another_kind_takes_nothing(graph: Graph) -> None:
    plan = plan_on(graph, "cpu:1", "emulated:a", "emulated:old")
    moved = moved_plan(plan, {"cpu": 1, "emulated:old": 1}, KINDS)
    assert places(moved) == ["cpu" if name == "emulated:a" else name for name in places(plan)]
    check_copies(moved)


def test_partitions_of_a_gpu_go_to_one_device(graph: Graph) -> None:
    plan = plan_on(graph, "cpu:1", "emulated:a", "emulated:b", "emulated:c")
    parts = ("cpu", "cuda:0[64sm]", "cuda:0[32sm]", "cuda:1")
    plan = replace(plan, devices=parts, memories=("host", "cuda:0", "cuda:0", "cuda:1"))
    moved = moved_plan(plan, {"cpu": 1, "cuda:1": 1}, dict.fromkeys(parts[1:], "cuda"))
    assert set(places(moved)) == {"cpu", "cuda:1"}
    assert moved.memories == ("host", "cuda:1")
    check_copies(moved)
