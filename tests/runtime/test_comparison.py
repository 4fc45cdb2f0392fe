from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import ExecutionError
from surplus.engine.report.comparison import PlainSession, compare, largest_difference, repeat
from surplus.engine.runtime.planned_model import PlannedModel
from tests.runtime.runtime_models import ADD, model_of, read_text

INPUTS = {"x": np.ones((2, 3), np.float32), "shift": np.ones(3, np.float32)}


@pytest.fixture
def model(tmp_path: Path) -> PlannedModel:
    return model_of(read_text(ADD, tmp_path))


def _f(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (_f(1, 2), _f(1, 2), 0),
        (_f(1, 2.5), _f(1, 2), 0.25),
        (_f(0.25), _f(0), 0.25),
        (_f(110), _f(100), 0.1),
        (_f(math.nan, math.inf), _f(math.nan, math.inf), 0),
        (_f(math.nan), _f(1), math.inf),
        (_f(1), _f(math.nan), math.inf),
        (_f(math.inf), _f(1), math.inf),
        (_f(math.inf), _f(-math.inf), math.inf),
        (_f(), _f(), 0),
        (_f(1), _f(1, 2), math.inf),
        (_f(1), np.array([1.0]), math.inf),
        (np.array([3]), np.array([2]), 0.5),
        (np.array([True]), np.array([True]), 0),
        (np.array([True]), np.array([False]), math.inf),
        (np.array(["a"], object), np.array(["a"], object), 0),
        (np.array(["a"], object), np.array(["b"], object), math.inf),
        ([_f(1), _f(2)], [_f(1), _f(2.5)], 0.2),
        ([_f(1)], [_f(1), _f(2)], math.inf),
        ([], [], 0),
        (None, None, 0),
        (_f(1), None, math.inf),
        (None, _f(1), math.inf),
    ],
)
def test_largest_difference(ours: Any, theirs: Any, expected: float) -> None:
    assert largest_difference({"y": ours}, {"y": theirs}) == pytest.approx(expected)


def test_different_outputs_do_not_compare() -> None:
    assert largest_difference({"y": _f(1)}, {"z": _f(1)}) == math.inf
    assert largest_difference({}, {}) == 0


def test_compare(model: PlannedModel, tmp_path: Path) -> None:
    found = compare(model, INPUTS, 3, tmp_path / "model.onnx")
    assert found["ratio"] == pytest.approx(found["median_ms"] / found["onnxruntime_ms"])
    assert found["largest_relative_difference"] == 0
    assert found["onnxruntime_threads"] >= 1


def test_repeat(model: PlannedModel) -> None:
    assert repeat(model, INPUTS, 3)["median_ms"] > 0


def test_a_file_that_onnxruntime_refuses(model: PlannedModel, tmp_path: Path) -> None:
    (tmp_path / "none.onnx").write_bytes(b"none")
    with pytest.raises(ExecutionError, match="plain ONNX Runtime"):
        PlainSession(model, 1, tmp_path / "none.onnx")
