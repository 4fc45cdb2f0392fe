"""Models that ONNX Runtime is told how to compute: its own session's answers, scheduled as ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import surplus
from surplus import GraphOptimizationLevel, InferenceSession, SessionOptions, models
from surplus.engine.dropin.told_model import ToldModel
from surplus.engine.errors import ConfigError
from tests.dropin.pair import FEEDS, PLAIN, Pair

CPU = ["CPUExecutionProvider"]
state = onnxruntime.capi.onnxruntime_pybind11_state

_MARKS = """
#include <cstdio>
#include <cstdlib>
extern "C" void* RegisterCustomOps(void*, const void*) {
  if (const char* path = std::getenv("MARKED_WHEN_REGISTERED")) std::fclose(std::fopen(path, "w"));
  return nullptr;
}
"""


@pytest.fixture(scope="module")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.save(models.build("lenet"), tmp_path_factory.mktemp("told") / "lenet.onnx")


def told(path: Any, options: SessionOptions, cache: Path, **more: Any) -> InferenceSession:
    session = InferenceSession(path, options, devices="cpu:2", cache=cache, **more)
    assert isinstance(session.model, ToldModel)
    return session


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED"])
def test_a_level_is_obeyed_to_the_bit(level: str, lenet: Path, cache: Path) -> None:
    options, theirs = SessionOptions(), onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(GraphOptimizationLevel, level)
    theirs.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    feed = models.example_inputs("lenet")
    both = Pair(
        told(lenet, options, cache),
        onnxruntime.InferenceSession(lenet, theirs, providers=CPU),
    )
    both.same_answers(lambda s: s.run(None, feed))
    both.same_answers(lambda s: [(a.name, a.type, a.shape) for a in s.get_inputs()])


def test_its_queries_are_urgent_and_profiled(lenet: Path, cache: Path, tmp_path: Path) -> None:
    options = SessionOptions()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    options.add_session_config_entry("surplus.deadline_ms", "20")
    session = told(lenet, options, cache)
    assert session.model.native.urgency == (20_000_000, 0, False)
    assert session.get_profiling_start_time_ns() > 0
    session.run(None, models.example_inputs("lenet"))
    events = json.loads(Path(session.end_profiling()).read_text())
    assert [event["cat"] for event in events] == ["Session", "Node"]
    assert {"pid", "tid", "ts", "dur", "ph", "name", "args"} <= events[1].keys()
    assert session.end_profiling() == ""


def test_a_plans_segments_are_profiled(lenet: Path, cache: Path, tmp_path: Path) -> None:
    options = SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = InferenceSession(lenet, options, devices="cpu:1", cache=cache)
    for _ in range(3):
        session.run(None, models.example_inputs("lenet"))
    events = json.loads(Path(session.end_profiling()).read_text())
    runs = [event for event in events if event["name"] == "model_run"]
    assert len(runs) == 3
    nodes = [event for event in events if event["cat"] == "Node"]
    assert len(nodes) == 3 * len(session.model.plan.segments)
    ends = runs[-1]["ts"] + runs[-1]["dur"]
    assert all(runs[0]["ts"] <= event["ts"] <= ends for event in nodes)


def test_inputs_with_defaults_are_left_out_or_given(typed: Path, cache: Path) -> None:
    options = SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "1")
    both = Pair(told(typed, options, cache), onnxruntime.InferenceSession(typed, providers=CPU))
    both.same_answers(lambda s: s.run(None, FEEDS))
    both.same_answers(lambda s: s.run(None, {**FEEDS, "scale": np.ones(3)}))
    for of in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        both.same_answers(lambda s, of=of: [(a.name, a.type, a.shape) for a in getattr(s, of)()])


def test_a_wrong_entry_is_refused_as_onnxruntime_does(lenet: Path, cache: Path) -> None:
    options = SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "perhaps")
    theirs = onnxruntime.SessionOptions()
    theirs.add_session_config_entry("session.disable_prepacking", "perhaps")

    def ask(which: str) -> Any:
        if which == "ours":
            return InferenceSession(lenet, options, devices="cpu:1", cache=cache)
        return onnxruntime.InferenceSession(lenet, theirs, providers=CPU, enable_fallback=0)

    outcomes = []
    for which in ("ours", "theirs"):
        try:
            ask(which)
            outcomes.append("opened")
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


def test_a_plan_cannot_be_asked_for_as_well(lenet: Path, cache: Path) -> None:
    options = SessionOptions()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    with pytest.raises(ConfigError, match="policy is of no use"):
        InferenceSession(lenet, options, devices="cpu:1", cache=cache, placement_policy="heft")


def test_the_optimised_model_is_saved(lenet: Path, cache: Path, tmp_path: Path) -> None:
    options = SessionOptions()
    options.optimized_model_filepath = tmp_path / "optimised.onnx"
    session = InferenceSession(lenet, options, devices="cpu:1", cache=cache)
    feed = models.example_inputs("lenet")
    again = onnxruntime.InferenceSession(tmp_path / "optimised.onnx", providers=CPU)
    assert again.run(None, feed)[0].tolist() == session.run(None, feed)[0].tolist()


def test_onnxruntimes_own_format_is_opened(cache: Path, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    onnxruntime.InferenceSession(content, options, providers=CPU)
    feed = {"x": FEEDS["x"], "i": np.array([1, 2])}
    for model in (tmp_path / "model.ort", (tmp_path / "model.ort").read_bytes()):
        both = Pair(
            told(model, SessionOptions(), cache),
            onnxruntime.InferenceSession(model, providers=CPU),
        )
        both.same_answers(lambda s: s.run(None, feed))
    with pytest.raises(state.NotImplemented, match="metadata"):
        both.ours.get_modelmeta()


def test_a_library_of_operators_is_registered(
    lenet: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = tmp_path / "operators.cpp", tmp_path / "operators.so"
    source.write_text(_MARKS)
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    options = surplus.SessionOptions()
    options.register_custom_ops_library(library)
    script = (
        "import sys, surplus; options = surplus.SessionOptions();"
        "options.register_custom_ops_library(sys.argv[1]);"
        "surplus.InferenceSession(sys.argv[2], options, devices='cpu:1', cache=sys.argv[3])"
    )
    mark = tmp_path / "mark"
    subprocess.run(
        [sys.executable, "-c", script, library, lenet, cache],
        env={**os.environ, "MARKED_WHEN_REGISTERED": str(mark)},
        check=True,
    )
    assert mark.exists()
    (tmp_path / "empty.cpp").write_text("int nothing;")
    empty = tmp_path / "empty.so"
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "empty.cpp", "-o", empty], check=True)
    options = surplus.SessionOptions()
    options.register_custom_ops_library(empty)
    with pytest.raises(state.Fail, match="RegisterCustomOps"):
        InferenceSession(lenet, options, devices="cpu:1", cache=cache)
