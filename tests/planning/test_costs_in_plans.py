"""What operators cost in plans: more than repeated alone where a CPU waits for a GPU in between."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ProfileError
from surplus.engine.planning.stages import costs_of, measure
from surplus.engine.profiling.overheads import Overheads
from surplus.engine.profiling.profile import Profile

SPECS = parse_devices("cpu:1,emulated:gpu")
CPU, GPU = 0, 1


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Profile]:
    folder: Path = tmp_path_factory.mktemp("lenet")
    graph = read(models.save(models.build("lenet"), folder / "model.onnx"), folder / "cache")
    return graph, measure(graph, SPECS, models.example_inputs("lenet"), folder / "cache")


def test_operators_of_the_cpu_cost_more_beside_a_gpu(profiled: tuple[Graph, Profile]) -> None:
    graph, profile = profiled
    alone, beside = costs_of(graph, profile, SPECS[:1]), costs_of(graph, profile, SPECS)
    more = {
        (b.service_ns[CPU] or 0) - (a.service_ns[CPU] or 0)
        for a, b in zip(alone.problem.tasks, beside.problem.tasks, strict=True)
    }
    assert len(more) == 1
    (operator_ns,) = more
    assert operator_ns > 0
    assert [t.service_ns[GPU] for t in beside.problem.tasks] == [
        profile.service_ns(task.name, SPECS[GPU].name) for task in graph.tasks
    ]
    one = alone.service.group_ns([0], CPU, 1), beside.service.group_ns([0], CPU, 1)
    assert one[1] > one[0] + operator_ns, "a segment costs more, too"


def test_launches_of_a_segment_are_fused_as_those_of_the_whole_model(
    profiled: tuple[Graph, Profile],
) -> None:
    graph, profile = profiled
    name = SPECS[GPU].name
    one_by_one_ns = sum(profile.launch_ns(task.name, name) for task in graph.tasks)
    together = {name: profile.device(name).submit_ns + one_by_one_ns // 2}
    fused = costs_of(graph, replace(profile, whole_launch_ns=together), SPECS).service
    half = sum(fused.launch_ns[GPU])
    assert half == pytest.approx(one_by_one_ns / 2, rel=0.01)


def test_what_segments_cost_beside_their_operators_is_said_by_the_profile(
    profiled: tuple[Graph, Profile],
) -> None:
    graph, profile = profiled
    other = Overheads(boundary_ns=7, tensor_ns=9, cold_segment_ns=11, cold_operator_ns=13)
    read_back = Profile.from_json(replace(profile, overheads=other).to_json())
    service = costs_of(graph, read_back, SPECS).service
    assert service.overheads == other
    assert (service.boundary_ns, service.tensor_ns) == (7, {CPU: 9})
    assert (service.segment_ns, service.operator_ns) == ({CPU: 11}, {CPU: 13})
    before = json.loads(profile.to_json())
    del before["overheads"]
    assert Profile.from_json(json.dumps(before)) == profile
    with pytest.raises(ProfileError, match=r"profile\.overheads: tensor_ns must be >= 0, got -1"):
        Profile.from_json(json.dumps(before | {"overheads": {"tensor_ns": -1}}))
