"""How far two arrays are apart, by the largest number of the one expected."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from surplus.engine.contest.relative_difference import relative_difference

NAN, INF = float("nan"), float("inf")


def _f(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        (_f(1, -4), _f(1, -4), 0),
        (_f(1.5, -4), _f(1, -4), 0.125),
        (_f(), _f(), 0),
        (_f(0), _f(0), 0),
        (_f(1e-30), _f(0), INF),  # there is no number to measure it by
        (_f(1), _f(1, 1), INF),
        (np.array([1]), _f(1), INF),
        (np.array([3, 5]), np.array([3, 4]), 0.25),
        (np.array([True]), np.array([False]), INF),
        (_f(NAN, INF, 1), _f(NAN, INF, 2), 0.5),
        (_f(NAN, 1), _f(1, 1), INF),
        (_f(1, 1), _f(1, NAN), INF),
        (_f(INF), _f(-INF), INF),
        (_f(NAN), _f(INF), INF),
        (_f(1, 3).astype(ml_dtypes.bfloat16), _f(1, 4).astype(ml_dtypes.bfloat16), 0.25),
        (np.array(["a"], object), np.array(["a"], object), 0),
        (np.array(["a"], object), np.array(["b"], object), INF),
    ],
)
def test_relative_difference(found: Any, expected: Any, difference: float) -> None:
    assert relative_difference(found, expected) == difference
