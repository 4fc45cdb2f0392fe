"""Whose queries go first: what models and queries say of it, and what the core makes of that."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine.errors import ConfigError, InputError, RefusedError
from surplus.engine.pipeline import learning
from surplus.engine.pipeline.idle_moment import IdleParams
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.learning import Learning
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.held_lane import held_lane

INPUTS = models.example_inputs("lenet")
HOUR_NS = 3_600 * 10**9


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.save(models.build("lenet"), tmp_path_factory.mktemp("urgency") / "lenet.onnx")


def _loaded(path: Path, **more: Any) -> PlannedModel:
    # Queries of one model that one call answers begin at the same instant.
    alone: dict[str, Any] = {"selection_s": 0, "max_batch": 0}
    return load_planned(path, "cpu:1", cache=path.parent / "cache", **alone, **more)


def _order(futures: dict[str, surplus.Future]) -> list[str]:
    """Names by when their queries began."""
    starts = {}
    for name, future in futures.items():
        future.result()
        timeline = future.timeline()
        starts[name] = future._run.submitted_ns + min(span.start_ns for span in timeline.spans)
    return sorted(starts, key=lambda name: starts[name])


def test_models_that_are_due_first_go_first(path: Path) -> None:
    asked: dict[str, dict[str, Any]] = {
        "plain": {},
        "later": {"deadline_s": 60},
        "soon": {"deadline_s": 30},
        "first": {"priority": 1},
    }
    loaded = {name: _loaded(path, **more) for name, more in asked.items()}
    with held_lane(loaded["plain"]._machine):
        futures = {name: m.submit(INPUTS, traced=True) for name, m in loaded.items()}
        now_ns = time.monotonic_ns()
        plain = loaded["plain"]
        futures["due now"] = plain.submit(INPUTS, traced=True, due_ns=now_ns + 20 * 10**9)
        futures["late"] = plain.submit(INPUTS, traced=True, due_ns=now_ns - 1)
    assert _order(futures) == ["first", "due now", "soon", "later", "late", "plain"]


def test_what_a_query_says_counts(path: Path) -> None:
    model = _loaded(path, priority=-1)
    with held_lane(model._machine):
        futures = {
            "as its model": model.submit(INPUTS, traced=True),
            "more urgent": model.submit(INPUTS, traced=True, priority=0),
        }
    assert _order(futures) == ["more urgent", "as its model"]


def test_best_effort_is_answered_on_lanes_of_its_own(path: Path) -> None:
    right = _loaded(path).run(INPUTS)
    idle = _loaded(path, best_effort=True)
    with held_lane(idle._machine):  # the one lane of all others
        for answer in (idle.run(INPUTS), idle.submit(INPUTS).result(timeout=60)):
            np.testing.assert_array_equal(answer["logits"], right["logits"])


def test_a_query_that_is_late_is_answered_where_that_was_asked_for(path: Path) -> None:
    with pytest.raises(RefusedError):
        _loaded(path, deadline_s=1e-08).run(INPUTS)
    model = _loaded(path, deadline_s=1e-08, on_late="serve")
    right = _loaded(path).run(INPUTS)
    for answer in (
        model.run(INPUTS),
        model.submit(INPUTS).result(),
        asyncio.run(model.infer(INPUTS)),
    ):
        np.testing.assert_array_equal(answer["logits"], right["logits"])


def test_whatever_answers_knows_it(path: Path) -> None:
    due = {"deadline_s": 0.005, "priority": -2}
    assert _loaded(path, **due).native.urgency == (5_000_000, -2, False)
    assert _loaded(path).native.urgency == (0, 0, False)
    params = LoadParams(devices="cpu:1", cache=path.parent / "cache", best_effort=True)
    assert LazyModel(path, params).planned().native.urgency == (0, 0, True)
    model = _loaded(path, **due)
    assert model.take_over(model.prepare(model.plan))
    assert model.native.urgency == (5_000_000, -2, False)


def test_a_plan_that_is_found_in_the_background_knows_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = Learning(IdleParams(after_first_load_s=0, after_query_s=0))
    monkeypatch.setattr(learning, "_LEARNING", at_once)
    asked: dict[str, Any] = {"cache": tmp_path, "tune": "background", "on_late": "serve"}
    with closing(load_planned(path, "cpu:1", deadline_s=0.007, **asked)) as model:
        until = time.monotonic() + 300  # only a hang reaches it
        while model.judgement is None:
            model.run(INPUTS)
            assert model.native.urgency == (7_000_000, 0, False)
            assert time.monotonic() < until, "no plan took over"
            time.sleep(0.01)
        assert model.native.urgency == (7_000_000, 0, False)
    at_once.end()


def test_a_deadline_that_cannot_be_kept_is_said(path: Path) -> None:
    model = _loaded(path, deadline_s=1e-06)
    takes_ms = model.plan.predicted.makespan_ns / 1e6
    assert f"due 0.001 ms after they came, and one alone takes {takes_ms:.3g} ms" in model.warning
    assert _loaded(path, deadline_s=60).warning == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deadline_s": 0}, "deadline_s must be above 0"),
        ({"deadline_s": -0.001}, "deadline_s must be above 0"),
        ({"deadline_s": float("nan")}, "deadline_s must be above 0"),
        ({"deadline_s": 0.005, "best_effort": True}, "give deadline_s or best_effort"),
    ],
)
def test_bad_urgency_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LoadParams(**options)


def test_bad_numbers_are_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="priority must be"):
        LoadParams(priority=2**40)
    with pytest.raises(InputError, match="due_ns must be"):
        _loaded(path).submit(INPUTS, due_ns=-5)
