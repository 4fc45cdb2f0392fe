"""What judging a plan in service leaves in the cache, and provisional plans at a later start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from surplus.engine.judging.judge import Judge
from surplus.engine.pipeline import learning
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plans import Kept, stored_plans
from surplus.engine.profiling.disturbance import Disturbance, Watch
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.judgement import Judgement
from surplus.engine.segmentation.plan import Plan
from tests.pipeline.subject import Subject

DISTURBED = Disturbance(taken=0.5)


def _kept(subject: Subject) -> Kept:
    (kept,) = stored_plans(read_model(subject.path, subject.cache))
    return kept


def _loaded(subject: Subject, **options: Any) -> PlannedModel:
    return load_planned(
        subject.path, devices="cpu:2", cache=subject.cache, selection_s=0, **options
    )


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Says what others take of the cores, whoever asks."""

    def say(taken: float) -> None:
        monkeypatch.setattr(Watch, "lately", lambda *_: Disturbance(taken=taken))
        monkeypatch.setattr(Watch, "overall", lambda *_: Disturbance(taken=taken))

    return say


def test_a_plan_of_a_disturbed_machine_is_provisional_and_of_whole_models(
    subject: Subject, told: Callable[[float], None]
) -> None:
    told(0.5)
    model = _loaded(subject)
    judgement = _kept(subject).judgement
    assert judgement is not None
    assert judgement.provisional
    assert judgement.disturbance == DISTURBED
    assert len(model.plan.segments) == 1
    assert {model.plan.name, *(r.name for r in judgement.runners_up)} >= {"whole x1", "whole x2"}
    told(0.0)
    again = _loaded(subject)
    assert again.judgement == judgement


def test_a_plan_of_a_quiet_machine_is_not_provisional(
    subject: Subject, told: Callable[[float], None]
) -> None:
    told(0.0)
    _loaded(subject)
    judgement = _kept(subject).judgement
    assert judgement is not None
    assert not judgement.provisional
    assert judgement.measured_ns > 0


def test_a_tuned_plan_says_how_disturbed_it_was(
    subject: Subject, told: Callable[[float], None]
) -> None:
    told(0.5)
    _loaded(subject, tune_s=0.3)
    judgement = _kept(subject).judgement
    assert judgement is not None
    assert judgement.provisional


def test_what_is_found_in_service_is_stored_for_the_next_start(
    subject: Subject, told: Callable[[float], None]
) -> None:
    told(0.5)
    model = _loaded(subject)
    found, other = _found(model)
    keep = _keep_of(model)
    keep(other, found)
    kept = _kept(subject)
    assert kept.plan.segments == other.segments
    assert kept.judgement == found
    assert _loaded(subject).plan.segments == other.segments


def test_it_is_not_stored_over_what_another_process_found(
    subject: Subject, told: Callable[[float], None]
) -> None:
    told(0.5)
    model = _loaded(subject)
    found, other = _found(model)
    _keep_of(_loaded(subject))(other, found)
    _keep_of(model)(model.plan, replace(found, at_s=7))
    assert _kept(subject).judgement == found


def _found(model: PlannedModel) -> tuple[Judgement, Plan]:
    """As if the first runner-up had been better."""
    judgement = model.judgement
    assert judgement is not None
    return replace(judgement, provisional=False), judgement.runners_up[0].read()


def _keep_of(model: PlannedModel) -> Callable[[Plan, Judgement], object]:
    judge = model._judge
    assert isinstance(judge, Judge)
    return judge._keep


def test_plans_are_compared_again_at_the_next_start_after_a_provisional_one(
    subject: Subject, told: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(learning, "learn", lambda *_, tune: asked.append(tune))
    told(0.5)
    _loaded(subject)
    assert asked == []
    _loaded(subject, tune="background")
    assert asked == ["again"]
    _loaded(subject, tune="now")
    assert asked == ["again"]
    first = _kept(subject).judgement
    _loaded(subject, tune="again")  # still disturbed
    assert _kept(subject).judgement == first
    told(0.0)
    _loaded(subject, tune="again")
    second = _kept(subject).judgement
    assert second is not None
    assert not second.provisional
    _loaded(subject, tune="background")
    assert asked == ["again"]
