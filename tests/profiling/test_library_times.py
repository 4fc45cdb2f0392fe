"""Times of other kernels in profiles, and what placement sees of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError, ProfileError
from surplus.engine.kernels.registry import installed
from surplus.engine.kernels.trial import SegmentTimed, TriedSegment
from surplus.engine.planning.stages import costs_of, measure, read_model
from surplus.engine.profiling import library_times as module
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.fastest_kernels import allowed_libraries, with_fastest_kernels
from surplus.engine.profiling.library_times import library_times
from surplus.engine.profiling.profile import LibraryProfile, Profile
from surplus.engine.profiling.timing import Timing
from surplus.placement import lower_bounds

SPECS = parse_devices("cpu:2,emulated:gpu")
INPUTS = {"x": np.ones((1, 3, 24, 24), np.float32)}


def _network(folder: Path) -> Path:
    """Convolution, activation, convolution, sum over the picture."""
    random = np.random.default_rng(0)
    data = {"w1": (16, 3, 3, 3), "w2": (16, 16, 3, 3)}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w1"], ["a"], name="first"),
            helper.make_node("Elu", ["a"], ["b"], name="activation"),
            helper.make_node("Conv", ["b", "w2"], ["c"], name="second"),
            helper.make_node("GlobalAveragePool", ["c"], ["y"], name="pool"),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 24, 24])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 1, 1])],
        [
            onnx.numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
            for name, shape in data.items()
        ],
    )
    path = folder / "network.onnx"
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("network")
    return read_model(_network(folder), folder / "cache")


@pytest.fixture(scope="module")
def profile(graph: Graph) -> Profile:
    """With times that are easy to follow: 100 microseconds an operator, fused to half of that."""
    measured = measure(graph, SPECS, INPUTS, graph.folder)
    own = {width: Timing(100_000) for width in (1, 2)}
    tasks = tuple(replace(t, times={**t.times, "cpu": own}) for t in measured.tasks)
    whole = {"cpu": {width: Timing(200_000) for width in (1, 2)}}
    library = LibraryProfile(
        "fast", "1", {"cpu": dict.fromkeys((1, 2), (80_000, 0, 30_000, 90_000))}
    )
    return replace(measured, tasks=tasks, whole_model=whole, libraries=(library,))


def _cpu_ns(profile: Profile) -> list[int]:
    return [task.times["cpu"][1].ns for task in profile.tasks]


def test_each_task_has_the_time_of_the_faster_kernels(graph: Graph, profile: Profile) -> None:
    fastest, taken = with_fastest_kernels(graph, profile)
    # Twice what the library takes, as all that runs on this device counts half in a segment. The
    # activation runs within the first convolution, and goes where that goes.
    assert _cpu_ns(fastest) == [160_000, 0, 60_000, 100_000]
    assert taken == {"fast": 3}
    assert fastest.whole_model["cpu"][1].ns == 160_000
    assert with_fastest_kernels(graph, profile, [])[0] == profile


def test_an_activation_stays_with_its_convolution(graph: Graph, profile: Profile) -> None:
    slow = replace(profile.libraries[0], times={"cpu": {1: (210_000, 0, 0, 10_000)}})
    fastest, taken = with_fastest_kernels(graph, replace(profile, libraries=(slow,)))
    assert _cpu_ns(fastest) == [100_000, 100_000, 100_000, 20_000]
    assert taken == {"fast": 1}


def test_policies_and_bounds_see_them(graph: Graph, profile: Profile) -> None:
    fastest, _ = with_fastest_kernels(graph, profile)
    own, other = (problem_of(graph, p, SPECS[:1]) for p in (profile, fastest))
    assert [task.service_ns[0] for task in other.tasks] == _cpu_ns(fastest)
    assert lower_bounds(other).makespan_ns < lower_bounds(own).makespan_ns
    service = costs_of(graph, fastest, SPECS[:1]).service
    whole_ns = service.group_ns(range(4), 0, 1) - service.boundary_ns
    assert whole_ns - service.in_plan_ns(range(4), 0) == 160_000


def test_round_trip(profile: Profile) -> None:
    assert Profile.from_json(profile.to_json()) == profile
    raw = json.loads(profile.to_json())
    del raw["libraries"]
    assert Profile.from_json(json.dumps(raw)).libraries == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda times: times["cpu"].update({"1": [1, 2]}), "'fast': .* width 1 are 2, of 4 tasks"),
        (lambda times: times["cpu"].update({"7": [1, 2, 3, 4]}), "width 7, at which"),
        (lambda times: times.update({"tpu": {"1": [1, 2, 3, 4]}}), "device 'tpu'"),
        (lambda times: times["cpu"].update({"1": [-1, 2, 3, 4]}), "must be >= 0"),
    ],
)
def test_malformed_ones_are_named(profile: Profile, change, message: str) -> None:
    raw = json.loads(profile.to_json())
    change(raw["libraries"][0]["times"])
    with pytest.raises(ProfileError, match=message):
        Profile.from_json(json.dumps(raw))


def test_which_are_allowed(profile: Profile) -> None:
    assert allowed_libraries(profile, "auto") == ["fast"]
    assert allowed_libraries(profile, "fast") == ["fast"]
    assert allowed_libraries(profile, "onnxruntime") == []
    with pytest.raises(ConfigError, match="'openvino': the profile has times of onnxruntime, fast"):
        allowed_libraries(profile, "openvino")


def test_the_librarys_names_are_those_of_tasks(graph: Graph, profile: Profile) -> None:
    # By the task, by its output, with something behind; the rest is spread over all.
    operators = [("first/WithoutBiases", 300), ("b", 100), ("second_reorder", 500), ("?", 900)]
    by_task = module._by_task(graph, SegmentTimed(0.5, operators), 1_800)
    assert by_task == (300, 100, 500, 0)
    assert module._by_task(graph, SegmentTimed(1.0, [("?", 0)]), 400) == (100,) * 4


@pytest.mark.skipif("openvino" not in installed(), reason="the wheel openvino is not installed")
def test_openvino_for_real(graph: Graph, profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, and its own names are told apart; its times are given, as no clock says the same."""
    real = module.try_segments
    tasks = {"first": 0, "b": 1, "second": 2, "c": 2, "pool": 3, "y": 3}

    def on_a_clock_of_ours(*arguments: Any) -> dict[int, TriedSegment]:
        return {
            i: replace(found, times=timed(found.times)) for i, found in real(*arguments).items()
        }

    def timed(times: SegmentTimed | None) -> SegmentTimed:
        assert times is not None
        assert times.to_onnx_runtime > 0
        assert all(ns >= 0 for _, ns in times.operators_ns)
        left_ns, named = [500, 0, 300, 200], []
        for name, _ in times.operators_ns:  # of what has several names the first takes all
            task = tasks.get(name.partition("/")[0])
            named.append((name, 0 if task is None else left_ns[task]))
            if task is not None:
                left_ns[task] = 0
        return SegmentTimed(0.5, named)

    monkeypatch.setattr(module, "try_segments", on_a_clock_of_ours)
    (library,) = library_times(graph, profile, SPECS, INPUTS, installed())
    assert library.name == "openvino"
    # Half of the whole model's 200 microseconds, as the given times divide it.
    assert library.times == {"cpu": dict.fromkeys((1, 2), (50_000, 0, 30_000, 20_000))}
    replace(profile, libraries=(library,))


def test_a_model_that_a_library_does_not_take_whole(tmp_path: Path, profile: Profile) -> None:
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])],
        "doubles",
        [value("x", TensorProto.DOUBLE, [2])],
        [value("y", TensorProto.DOUBLE, [2])],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(made, opset_imports=[opset], ir_version=8)
    onnx.save(model, tmp_path / "doubles.onnx")
    doubles = read_model(tmp_path / "doubles.onnx", tmp_path / "cache")
    asked = {"openvino": "2026"}
    assert library_times(doubles, profile, SPECS, {"x": np.ones(2)}, asked) == ()
