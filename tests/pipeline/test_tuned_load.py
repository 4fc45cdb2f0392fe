"""Tuned plans on disk: stored, used again, refused, and never half written."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.pipeline import making as module
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.making import tune_with
from surplus.engine.planning import plan_question
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import StoredPlan, plan_path, write_plan
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, sliced_plan
from tests.pipeline.subject import Subject

TUNE_S = 0.3


def _load(subject: Subject, **options: Any) -> PlannedModel:
    given = {"devices": "cpu:2", "selection_s": 0, "inputs": subject.inputs} | options
    return load_planned(subject.path, cache=subject.cache, **given)


def _document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text().partition("\n")[2])
    return found


def _not_again(*_: object, **__: object) -> None:
    raise AssertionError("measured again")


def test_a_tuned_plan_is_used_by_every_later_load(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _load(subject, tune_s=TUNE_S)
    (path,) = subject.plans()
    report = _document(path)["tuning"]
    assert report["rounds"]
    assert report["budget_s"] == TUNE_S
    monkeypatch.setattr(module, "measure", _not_again)
    for options in ({}, {"tune_s": TUNE_S}, {"inputs": None}):
        again = _load(subject, **options)
        assert again.plan == first.plan
        right, answer = first.run(subject.inputs), again.run(subject.inputs)
        assert all(np.array_equal(right[name], answer[name]) for name in right)


def test_a_quick_choice_does_not_stand_in_for_tuning(subject: Subject) -> None:
    _load(subject)
    (path,) = subject.plans()
    assert _document(path)["tuning"] is None
    _load(subject, tune_s=TUNE_S)
    assert subject.plans() == [path]
    assert _document(path)["tuning"] is not None


def test_tuning_again_replaces_what_is_stored(subject: Subject) -> None:
    params = LoadParams(devices="cpu:2", cache=subject.cache, tune_s=TUNE_S)
    first = tune_with(subject.path, params, subject.inputs)
    second = tune_with(subject.path, params, subject.inputs)
    assert first.path == second.path == subject.plans()[0]
    assert second.path is not None
    assert _document(second.path)["tuning"] == json.loads(json.dumps(second.report.to_dict()))
    whole = [row.name for row in second.report.rounds[0].tried if row.segments == 1]
    assert whole == ["whole x1", "whole x2"]
    assert _load(subject).plan == second.model.plan


def test_tuning_begins_with_what_is_stored(subject: Subject) -> None:
    params = LoadParams(devices="cpu:2", cache=subject.cache, tune_s=TUNE_S)
    graph, specs = read_model(subject.path, subject.cache), params.specs()
    by_hand = sliced_plan(graph, constant_problem(graph, specs), 2)
    path = plan_path(graph, specs, params.placement_policy, params.plan_options(), subject.inputs)
    question = plan_question.question_of(
        graph, specs, params.placement_policy, params.plan_options(), subject.inputs
    )
    assert write_plan(path, question, StoredPlan(by_hand))
    report = tune_with(subject.path, params, subject.inputs).report
    (row,) = (row for row in report.rounds[0].tried if row.name == "2 slices (stored)")
    assert row.segments == 2


def test_a_plan_from_another_machine_is_refused_and_made_again(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _load(subject, tune_s=TUNE_S)
    (path,) = subject.plans()
    # As after the cache was copied: the file's name is right, its content is not.
    here = plan_question.this_machine()
    elsewhere = type(here)(**{**here.__dict__, "cpu": "another processor"})
    monkeypatch.setattr(plan_question, "this_machine", lambda: elsewhere)
    with caplog.at_level(logging.WARNING):
        assert _load(subject, tune_s=TUNE_S).run(subject.inputs)
    assert f"{path} is not used: made for something else: machine.cpu is" in caplog.text
    assert _document(path)["made_for"]["machine"]["cpu"] == "another processor"


@pytest.mark.parametrize("moment", ["comparing", "writing", "renaming"])
def test_a_killed_process_leaves_no_plan(subject: Subject, moment: str) -> None:
    script = Path(__file__).with_name("killed_tuning.py")
    words = [sys.executable, str(script), str(subject.path), str(subject.cache), moment]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    assert subject.plans() == []
    assert _load(subject).run(subject.inputs)
    assert len(subject.plans()) == 1


def test_a_process_killed_while_it_tunes_again_leaves_the_old_plan(subject: Subject) -> None:
    _load(subject)
    (path,) = subject.plans()
    before = path.read_bytes()
    script = Path(__file__).with_name("killed_tuning.py")
    words = [sys.executable, str(script), str(subject.path), str(subject.cache), "writing"]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    assert path.read_bytes() == before


@pytest.mark.parametrize("time_s", [-1.0, float("nan"), float("inf")])
def test_a_wrong_time(subject: Subject, time_s: float) -> None:
    with pytest.raises(ConfigError, match="tune_s must be 0 to"):
        _load(subject, tune_s=time_s)


def test_tuning_needs_a_time(subject: Subject) -> None:
    with pytest.raises(ValueError, match="tune_s must be > 0, got 0"):
        tune_with(subject.path, LoadParams(cache=subject.cache), subject.inputs)
