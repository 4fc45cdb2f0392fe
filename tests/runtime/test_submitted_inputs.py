"""What ``submit`` reads is what it was given, whatever becomes of the arrays."""

from __future__ import annotations

import array
import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import InputError
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.runtime_models import model_of, read_text
from tests.runtime.test_array_like import Capsules, Table

NEG = "neg (float[n] x) => (float[n] y) { y = Neg(x) }"
SEQUENCE = "first (seq(float[n]) s, int64 i) => (float[n] y) { y = SequenceAt(s, i) }"
LONG = "long (float[n, n] x) => (float[n, n] y) { t = MatMul(x, x)  y = MatMul(t, x) }"
SMALL, LARGE = 8, 1 << 20


@pytest.fixture(scope="module")
def neg(tmp_path_factory: pytest.TempPathFactory) -> PlannedModel:
    return model_of(read_text(NEG, tmp_path_factory.mktemp("neg")), "cpu:1")


@pytest.fixture
def busy(tmp_path: Path) -> Any:
    """Keeps the only lane for some 50 ms: what is submitted meanwhile reads its inputs later."""
    model = model_of(read_text(LONG, tmp_path / "long"), "cpu:1")
    return model.submit({"x": np.ones((1200, 1200), np.float32)})


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()


def answered(future: Future) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = future.result()["y"]
    return found


@pytest.mark.parametrize("outputs", [None, ["y"]])
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_arrays_may_change_at_once(
    neg: PlannedModel, busy: Future, size: int, outputs: list[str] | None
) -> None:
    x = np.ones(size, np.float32)
    future = neg.submit({"x": x}, outputs)
    x[:] = 7
    assert np.array_equal(answered(future), -np.ones(size))
    busy.result()


@pytest.mark.parametrize("kind", [Table, Capsules, memoryview, partial(array.array, "f")])
def test_other_libraries_tensors_may_change_at_once(
    neg: PlannedModel, busy: Future, kind: Callable[[Any], Any]
) -> None:
    x = np.ones(SMALL, np.float32)
    tensor = kind(x)
    future = neg.submit({"x": tensor})
    x[:] = 7
    if isinstance(tensor, array.array):
        tensor[0] = 7
    assert np.array_equal(answered(future), -np.ones(SMALL))
    busy.result()


def test_what_is_no_array_is_refused_by_its_own_name(neg: PlannedModel) -> None:
    with pytest.raises(InputError, match="input 'x': expected float32, got set"):
        neg.submit({"x": {1.0}})


@pytest.mark.parametrize("outputs", [None, ["y"]])
def test_a_read_only_array_is_read_in_place(
    neg: PlannedModel, busy: Future, outputs: list[str] | None
) -> None:
    x = np.ones(SMALL, np.float32)
    view = x[:]
    view.flags.writeable = False
    future = neg.submit({"x": view}, outputs)
    x[:] = 7
    assert np.array_equal(answered(future), np.full(SMALL, -7))
    busy.result()


def test_arrays_in_a_sequence(tmp_path: Path, busy: Future) -> None:
    model = model_of(read_text(SEQUENCE, tmp_path), "cpu:1")
    x, index = np.ones(SMALL, np.float32), np.array(0)
    future = model.submit({"s": [x], "i": index})
    x[:] = 7
    assert np.array_equal(answered(future), np.ones(SMALL))
    busy.result()


@pytest.mark.parametrize(
    ("urgency", "message"),
    [
        ({"priority": 2**31}, "priority must be -2147483648 to 2147483647, got 2147483648"),
        ({"priority": -(2**31) - 1}, "priority must be"),
        ({"priority": 0.5}, "priority must be an integer, got 0.5"),
        ({"deadline_ns": 2**63}, "deadline_ns must be 0 to"),
        ({"deadline_ns": -1}, "deadline_ns must be 0 to"),
    ],
)
def test_what_the_core_cannot_hold_is_refused(
    neg: PlannedModel, urgency: dict[str, Any], message: str
) -> None:
    inputs = {"x": np.ones(SMALL, np.float32)}
    with pytest.raises(InputError, match=message):
        neg.submit(inputs, **urgency)
    with pytest.raises(InputError, match=message):
        asyncio.run(neg.infer(inputs, **urgency))


def test_the_bounds_are_taken(neg: PlannedModel) -> None:
    inputs = {"x": np.ones(SMALL, np.float32)}
    for priority in (-(2**31), 2**31 - 1, np.int64(5)):
        future = neg.submit(inputs, priority=int(priority), deadline_ns=2**63 - 1)
        assert np.array_equal(answered(future), -inputs["x"])
