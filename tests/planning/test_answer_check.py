"""A plan that answers wrongly is dropped before it is used, and the log names the tensor."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg import extract
from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.making import load_placed
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.placement_file import save_placement
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, scattered_plan, sliced_plan
from tests.pipeline.subject import Subject

SPECS = parse_devices("cpu:2")


@pytest.fixture
def graph(subject: Subject) -> Graph:
    return read_model(subject.path, subject.cache)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every segment that is cut out of its graph delivers the negative of its first output."""
    names: set[str] = set()
    right = extract.extract

    def wrong(*args: Any, **options: Any) -> onnx.ModelProto:
        model = right(*args, **options)
        name = model.graph.output[0].name
        names.add(name)
        for node in model.graph.node:
            node.output[:] = [f"{n}-right" if n == name else n for n in node.output]
        model.graph.node.append(onnx.helper.make_node("Neg", [f"{name}-right"], [name]))
        return model

    monkeypatch.setattr(extract, "extract", wrong)
    return names


def _model(graph: Graph) -> PlannedModel:
    return PlannedModel(
        graph, sliced_plan(graph, constant_problem(graph, SPECS), 3), machine_for(SPECS)
    )


def _right(subject: Subject) -> dict[str, Any]:
    return load_planned(subject.path, "cpu:1", "single", cache=subject.cache).run(subject.inputs)


def test_right_plans_pass(graph: Graph, subject: Subject, caplog: pytest.LogCaptureFixture) -> None:
    check = AnswerCheck(graph, subject.inputs, SPECS)
    assert check.accepts(_model(graph))
    specs = parse_devices("cpu:1,emulated:gpu")
    scattered = scattered_plan(graph, constant_problem(graph, specs), 1)
    assert check.accepts(PlannedModel(graph, scattered, machine_for(specs)))
    assert not check.found_wrong
    assert caplog.text == ""
    assert check.note()["difference"] < 1e-4


@pytest.mark.usefixtures("planted")
def test_a_planted_wrong_segment_is_named(
    graph: Graph, subject: Subject, planted: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    check = AnswerCheck(graph, subject.inputs, SPECS)
    assert not check.accepts(_model(graph))
    assert check.found_wrong
    (line,) = caplog.messages
    assert "answers wrongly and is dropped: output" in line
    assert any(f"makes tensor {name!r} wrong" in line for name in planted)


def _placed(subject: Subject, graph: Graph, tmp_path: Path) -> PlannedModel:
    """Under a placement that uses both devices, so that every plan of it is cut."""
    specs = parse_devices("cpu:1,emulated:gpu")
    problem = constant_problem(graph, specs)
    count = len(graph.tasks)
    placement = Placement(tuple(i % 2 for i in range(count)), tuple(range(count)), "by hand")
    save_placement(tmp_path / "F.json", graph, problem, placement)
    params = LoadParams("cpu:1,emulated:gpu", cache=subject.cache)
    return load_placed(subject.path, tmp_path / "F.json", None, params, subject.inputs)


@pytest.mark.usefixtures("planted")
def test_where_no_right_plan_is_left_the_whole_model_runs(
    graph: Graph, subject: Subject, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = _placed(subject, graph, tmp_path)
    assert len(model.plan.segments) == 1
    assert "the whole model runs in one session" in caplog.text
    for name, right in _right(subject).items():
        np.testing.assert_allclose(model.run(subject.inputs)[name], right, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("planted")
def test_loading_chooses_among_the_right_ones(
    subject: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    model = load_planned(
        subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, finalists=4
    )
    for name, right in _right(subject).items():
        np.testing.assert_allclose(model.run(subject.inputs)[name], right, rtol=1e-4, atol=1e-5)
    assert "is dropped: output" in caplog.text
    (stored,) = subject.plans()[:1]
    assert len(json.loads(stored.read_text().partition("\n")[2])["plan"]["segments"]) == 1


def _change(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    import hashlib

    raw = json.loads(path.read_text().partition("\n")[2])
    change(raw)
    text = json.dumps(raw)
    path.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")


def _document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text().partition("\n")[2])
    return found


def test_a_stored_plan_says_how_it_compared(subject: Subject) -> None:
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs)
    (path,) = subject.plans()
    checked = _document(path)["checked"]
    assert checked.keys() == {"processor", "output", "difference"}
    assert 0 <= checked["difference"] < 1e-4


def test_a_plan_from_elsewhere_is_compared_once(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs)
    (path,) = subject.plans()
    _change(path, lambda raw: raw["checked"].update(processor="another"))
    asked: list[str] = []
    right = AnswerCheck.accepts
    monkeypatch.setattr(
        AnswerCheck, "accepts", lambda self, m: asked.append(m.plan.name) or right(self, m)
    )
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs)
    assert len(asked) == 1
    assert _document(path)["checked"]["processor"] != "another"
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs)
    assert len(asked) == 1


def test_a_stored_plan_that_is_wrong_here_is_made_anew(
    graph: Graph, subject: Subject, planted: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, finalists=1)
    (path,) = subject.plans()
    cut = sliced_plan(graph, constant_problem(graph, SPECS), 3)
    _change(path, lambda raw: raw.update(plan=json.loads(cut.to_json()), checked=None))
    model = load_planned(
        subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, finalists=1
    )
    assert "'3 slices' answers wrongly and is dropped" in caplog.text
    assert len(model.plan.segments) == 1
    assert planted


def test_a_throughput_plan_is_compared_too(
    graph: Graph, subject: Subject, planted: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, finalists=1)
    (path,) = subject.plans()
    cut = sliced_plan(graph, constant_problem(graph, SPECS), 3)
    throughput_plan = ThroughputPlan(cut, Grounds(2, "cpu", 1, "cpu", 2, 0.5)).to_dict()
    _change(path, lambda raw: raw.update(throughput_plan=throughput_plan, checked=None))
    load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, finalists=1)
    assert "'3 slices' answers wrongly and is dropped" in caplog.text
    assert _document(path)["throughput_plan"] is None


def test_what_has_no_right_answer_is_not_compared(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Random numbers are others each time, and so is what a plan makes of them."""
    text = """<ir_version: 9, opset_import: ["" : 18]>
    noise (float[4] x) => (float[4] y) { r = RandomNormalLike(x) a = Neg(r) y = Add(a, x) }"""
    path = tmp_path / "noise.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    graph = read_model(path, tmp_path / "cache")
    check = AnswerCheck(graph, {"x": np.ones(4, np.float32)}, SPECS)
    plan = sliced_plan(graph, constant_problem(graph, SPECS), 2)
    with caplog.at_level(logging.WARNING):
        assert check.accepts(PlannedModel(graph, plan, machine_for(SPECS)))


def test_a_device_that_replays_has_no_answers_of_its_own(graph: Graph, subject: Subject) -> None:
    """Its first query is recorded: one of ours would be what everybody gets."""
    check = AnswerCheck(graph, subject.inputs, parse_devices("cpu:1,emulated:gpu[replay]"))
    assert check.accepts(_model(graph))
    assert check.note()["difference"] is None


def test_a_model_that_computes_no_output_is_loaded(tmp_path: Path) -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
    still (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Neg(c) z = Exp(x) }"""
    path = tmp_path / "still.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model = load_planned(path, "cpu:1,emulated:gpu", cache=tmp_path / "cache")
    np.testing.assert_array_equal(model.run({"x": np.ones(2, np.float32)})["y"], [-1, -2])
