"""Recordings of real models: who blocked a lane is named, and looks turn the recorders on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import surplus
from surplus import models
from surplus.engine.errors import ConfigError, UnknownModelError
from surplus.engine.explain.categories import Category
from surplus.engine.pipeline.load import load_planned
from surplus.engine.report.late import late_document, late_trace
from surplus.engine.runtime import flight_log
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.held_lane import held_lane

INPUTS = models.example_inputs("lenet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flights")


def _loaded(folder: Path, name: str, network: str = "lenet", **more: Any) -> PlannedModel:
    path = models.save(models.build(network), folder / f"{name}.onnx")
    return load_planned(path, "cpu:1", cache=folder / "cache", selection_s=0, **more)


def test_who_blocks_the_only_lane_is_named(folder: Path) -> None:
    vad = _loaded(folder, "vad", deadline_s=0.001, on_late="serve")
    detector = _loaded(folder, "detector", "squeezenet", priority=1)
    image = models.example_inputs("squeezenet")
    flight_log.record()
    with held_lane(vad._machine):
        blocks = detector.submit(image, traced=True)
        late = vad.submit(INPUTS)
    late.result()
    blocks.result()
    query = vad.late_queries()[-1]
    assert query.is_whole
    assert sum(query.parts.values()) == query.run.latency_ns
    took = {who.model: ns for (category, who), ns in query.parts.items() if who is not None}
    assert took["detector"] == sum(span.duration_ns for span in blocks.timeline())
    assert set(took) == {"detector", "holder"}
    assert {category for category, who in query.parts if who} == {Category.QUEUEING_OTHERS}
    (found,) = surplus.late("vad")
    assert found.queries[-1].run == query.run
    assert "of vad's" in found.sentences[0]
    assert late_document([found])["models"][0]["queries"][-1]["late_ns"] == query.run.late_ns
    labels = " ".join(event["name"] for event in late_trace([found])["traceEvents"])
    assert "queueing others: detector's " in labels


def test_a_look_has_models_recorded_that_are_not_due(folder: Path) -> None:
    model = _loaded(folder, "plain")
    surplus.top()
    for _ in range(3):
        model.run(INPUTS)
    rows = {row.model: row for machine in surplus.top() for row in machine.models}
    assert rows["plain"].queries == 3
    assert rows["plain"].misses == 0
    assert rows["plain"].percentile_ns(50) is not None


def test_a_model_that_changes_its_plan_keeps_its_name_and_queries(folder: Path) -> None:
    model = _loaded(folder, "before", deadline_s=60)
    model.run(INPUTS)
    model.be_called("camera")
    model.run(INPUTS)
    assert model.take_over(model.prepare(model.plan))
    model.run(INPUTS)
    rows = {row.model: row for machine in surplus.top() for row in machine.models}
    assert rows["camera"].queries == 3
    assert rows["camera"].due_after_ns == 60_000_000_000
    assert "before" not in rows


def test_wrong_questions_are_refused(folder: Path) -> None:
    model = _loaded(folder, "asked")
    for window_s in (0, -1, 3_601, float("nan")):
        with pytest.raises(ConfigError, match="the window must be above 0, at most 3600 s"):
            surplus.top(window_s)
        with pytest.raises(ConfigError, match="the window"):
            model.late_queries(window_s)
    with pytest.raises(
        UnknownModelError, match=r"no model is called 'nobody'; there are .*'asked'"
    ):
        surplus.late("nobody")


def test_records_end_before_they_are_read(folder: Path) -> None:
    model = _loaded(folder, "ends")
    flight_log.record()
    model.run(INPUTS)
    found = flight_log.flights(model._machine, 60)
    assert found.now_ns <= time.monotonic_ns()
    assert (found.nodes[:, 7] <= found.now_ns).all()
    assert (found.runs[:, 4] <= found.now_ns).all()
