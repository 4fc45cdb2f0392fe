"""What is refused at once: queries that cannot be in time, or would wait for too long."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.engine.errors import ConfigError, InputError, RefusedError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.held_lane import HOLD_NS, held_lane

INPUTS = models.example_inputs("lenet")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.save(models.build("lenet"), tmp_path_factory.mktemp("admission") / "lenet.onnx")


def _loaded(path: Path, **more: Any) -> PlannedModel:
    # One call that answers many queries of a flood would hold a light query back.
    alone: dict[str, Any] = {"tune": "now", "max_batch": 0}
    return load_planned(path, "cpu:1", cache=path.parent / "cache", **alone, **more)


def test_what_cannot_be_in_time_is_refused_whichever_way_it_is_asked(path: Path) -> None:
    model = _loaded(path, deadline_s=1e-08, on_late="reject")
    asked = [
        lambda: model.run(INPUTS),
        lambda: model.run(INPUTS, timeout_s=60),
        lambda: model.submit(INPUTS).result(),
        lambda: asyncio.run(model.infer(INPUTS)),
        lambda: model.foresee(),
    ]
    for ask in asked:
        with pytest.raises(RefusedError, match=r"would have been [\d.]+ ms late") as refused:
            ask()
        assert refused.value.by_ns > 0
    right = _loaded(path).run(INPUTS)
    later = model.submit(INPUTS, due_ns=time.monotonic_ns() + 60 * 10**9).result()
    np.testing.assert_array_equal(later["logits"], right["logits"])


def test_a_query_may_say_by_when_and_is_refused_for_it(path: Path) -> None:
    model = _loaded(path, on_late="reject")
    now_ns = time.monotonic_ns()
    for options in ({}, {"outputs": ["logits"]}, {"traced": True}):
        with pytest.raises(RefusedError):
            model.run(INPUTS, due_ns=now_ns, **options)
        model.run(INPUTS, due_ns=now_ns + 60 * 10**9, **options)
    with pytest.raises(InputError, match="due_ns"):
        model.run(INPUTS, due_ns=-1)
    with pytest.raises(RefusedError):
        asyncio.run(model.infer(INPUTS, deadline_ns=time.monotonic_ns() + 100))
    with pytest.raises(RefusedError):
        model.foresee(time.monotonic_ns() + 100)
    model.foresee(time.monotonic_ns() + 60 * 10**9)
    model.foresee()
    model.run(INPUTS)


def test_without_deadlines_the_predicted_wait_is_bounded(path: Path) -> None:
    model = _loaded(path, on_late="reject")  # what holds the lane counts
    with held_lane(model._machine):
        model.be_urgent(LoadParams(max_wait_s=HOLD_NS / 8e9).urgency())
        with pytest.raises(RefusedError, match="longer than it may") as refused:
            model.submit(INPUTS).result()
        assert 0 < refused.value.by_ns < HOLD_NS
        with pytest.raises(RefusedError, match="longer than it may"):
            model.foresee()
        model.be_urgent(LoadParams(max_wait_s=10 * HOLD_NS / 1e9).urgency())
        admitted = model.submit(INPUTS)
    assert "logits" in admitted.result()


def test_a_flood_of_one_model_is_not_waited_for_by_another(path: Path) -> None:
    flooded, light = _loaded(path), _loaded(path)
    flooded.run(INPUTS)  # later than what was run to load the other one, whose share that was
    with held_lane(flooded._machine):
        flood = [flooded.submit(INPUTS, traced=True) for _ in range(50)]
        asked = light.submit(INPUTS, traced=True)
    asked.result()
    began = asked._run.submitted_ns + asked.timeline().spans[0].start_ns
    before = 0
    for future in flood:
        future.result()
        before += future._run.submitted_ns + future.timeline().spans[0].start_ns < began
    assert before <= 1


def test_weights_and_rules_go_along_to_another_plan(path: Path) -> None:
    model = _loaded(path, deadline_s=1e-08, on_late="reject", weight=2.0)
    assert model.take_over(model.prepare(model.plan))
    with pytest.raises(RefusedError):
        model.run(INPUTS)


def test_what_happens_is_counted(path: Path) -> None:
    model = _loaded(path, deadline_s=60, on_late="reject")
    before = model._machine.stats()["admission"]
    model.run(INPUTS)
    with pytest.raises(RefusedError):
        model.submit(INPUTS, due_ns=1).result()
    after = model._machine.stats()["admission"]
    grown = {name: after[name] - before[name] for name in after}
    assert grown == {"promised": 1, "kept": 1, "broken": 0, "refused": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_late": "drop"}, "on_late must be one of serve, reject, got 'drop'"),
        ({"max_wait_s": -1.0}, "max_wait_s must be 0 to"),
        ({"max_wait_s": float("nan")}, "max_wait_s must be 0 to"),
        ({"weight": 0.0}, "weight must be 0.01 to 100, got 0.0"),
        ({"weight": float("inf")}, "weight must be 0.01 to 100"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LoadParams(**options)


def test_the_core_refuses_weights_that_are_none(path: Path) -> None:
    with pytest.raises(ValueError, match=r"a weight is 0.01 to 100, got -1"):
        _loaded(path).native.weigh(-1.0)
