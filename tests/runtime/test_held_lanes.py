"""Lanes kept by operators that do not return: counted, named, a failure when none is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from surplus import models
from surplus.engine import _core
from surplus.engine.errors import UnavailableError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.values import to_value
from tests.compiled_library import await_deaf, deaf_plan, look_until, release_deaf

INPUTS = models.example_inputs("chain", length=3, size=8)


@pytest.fixture
def model(tmp_path: Path) -> PlannedModel:
    file = models.save(models.build("chain", length=3, size=8), tmp_path / "chain.onnx")
    return load_planned(file, "cpu:2", cache=tmp_path / "cache")


@pytest.fixture
def deaf(model: PlannedModel) -> Iterator[_core.Plan]:
    """A plan on the model's machine whose only operator ends when the test does."""
    yield deaf_plan(model._machine)
    release_deaf()


def hold(deaf: _core.Plan, lanes: int) -> None:
    """Have that many queries, in all, end before their operators do, 30 s ago."""
    before = len(deaf.held_nodes)
    runs = [deaf.submit([to_value(np.ones((1, 2), np.float32))]) for _ in range(lanes - before)]
    await_deaf(lanes)
    for run in runs:
        run.cancel()
    look_until(lambda: len(deaf.held_nodes) == lanes)


def test_a_lane_that_is_held_is_counted_and_its_segment_named(
    model: PlannedModel, deaf: _core.Plan
) -> None:
    assert (model.warning, model.failure) == ("", "")
    hold(deaf, 1)
    assert model._machine.stats()["devices"][0]["held"] == 1
    assert deaf.held_nodes == ["deaf"]
    assert model.failure == ""
    model.run(INPUTS)  # on the other lane
    model._prepared = model._prepared._replace(native=deaf)
    assert model.warning == "lanes are held by segments whose queries have ended: 'deaf'"
    assert ModelExecutor(ServedAlone(model)).warning == model.warning


def test_a_model_without_a_lane_is_not_ready_until_one_returns(
    model: PlannedModel, deaf: _core.Plan
) -> None:
    served = ServedModel("chain", "1")
    served.set_ready(ModelExecutor(ServedAlone(model)))
    hold(deaf, 2)
    assert model.failure == "all 2 lanes of cpu are held by operators that do not return"
    assert served.state is ModelState.UNAVAILABLE
    with pytest.raises(UnavailableError, match="all 2 lanes of cpu are held"):
        _ = served.executor
    release_deaf()
    model._machine.close(drains=True)
    assert deaf.held_nodes == []
    assert model._machine.stats()["devices"][0]["held"] == 0
    assert not model._machine.is_stalled
