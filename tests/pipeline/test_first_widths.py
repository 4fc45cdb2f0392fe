"""The first queries of an unmeasured model run at either width, with the same bits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.judging.width_choice import WidthParams
from surplus.engine.pipeline.load import load_planned
from tests.pipeline.subject import Subject

EACH = WidthParams().warm_up + WidthParams().runs


def _loaded(subject: Subject, **options: Any) -> Any:
    return load_planned(subject.path, cache=subject.cache, devices="cpu:2", tune="off", **options)


@pytest.mark.parametrize("way", ["run", "submit"])
def test_a_model_has_the_same_bits_before_and_after(subject: Subject, way: str) -> None:
    model = _loaded(subject)
    asked: dict[str, Callable[[], dict[str, Any]]] = {
        "run": lambda: model.run(subject.inputs),
        "submit": lambda: model.submit(subject.inputs).result(60),
    }
    first = asked[way]()
    for _ in range(3 * EACH):
        answer = asked[way]()
        for name, array in first.items():
            np.testing.assert_array_equal(answer[name], array)
    assert model._trial is None


def test_a_width_that_is_asked_for_is_not_tried(subject: Subject) -> None:
    model = _loaded(subject, first_width=1)
    assert model._trial is None
    assert [segment.width for segment in model.plan.segments] == [1]
    assert model.run(subject.inputs).keys() == _loaded(subject).run(subject.inputs).keys()


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize("way", ["asked", "long run"])
def test_a_pool_has_threads_from_when_it_is_woken_and_the_same_bits(
    subject: Subject, way: str
) -> None:
    model = _loaded(subject)
    pool = model._trial._pool
    model.end_trial()
    assert pool.are_workers_asleep
    asleep = model.run(subject.inputs)
    before = _threads()
    if way == "asked":
        pool.wake_workers()
        pool.wake_workers()
    else:
        model.run(subject.inputs)
        assert _threads() == before
        pool.wake_workers_after(1)
        model.run(subject.inputs)
    assert not pool.are_workers_asleep
    assert _threads() == before + 1, "two lanes: the asker is the other"
    awake = model.run(subject.inputs)
    for name, array in asleep.items():
        np.testing.assert_array_equal(awake[name], array)


def test_many_models_share_a_pool_that_never_sleeps(subject: Subject) -> None:
    _core.expect_wide_sessions(1000, 2)
    try:
        first = _loaded(subject)  # which has a pool of its own: as many threads as cores are left
        shutil.copy(subject.path, subject.path.with_name("other.onnx"))
        other = load_planned(
            subject.path.with_name("other.onnx"), cache=subject.cache, devices="cpu:2", tune="off"
        )
        assert (first._trial is None, other._trial is None) == (False, True)
        assert other.run(subject.inputs).keys() == first.run(subject.inputs).keys()
    finally:
        _core.expect_wide_sessions(0, 1)
