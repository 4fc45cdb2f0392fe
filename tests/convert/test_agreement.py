"""Outputs that agree, and how those that do not are described."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surplus.engine.convert.agreement import Tolerance, require_agreement
from surplus.engine.errors import ConfigError, ConversionError


def _agree(expected: Any, actual: Any, **tolerances: float) -> float:
    given = Tolerance(**tolerances)
    return require_agreement(["y"], [np.asarray(expected)], [np.asarray(actual)], given)


def test_the_largest_difference_of_all_outputs() -> None:
    ones = np.ones(3, np.float32)
    off = np.array([1, 1.0001, 1], np.float32)
    largest = require_agreement(["a", "b"], [ones, ones], [ones, off], Tolerance())
    assert largest == pytest.approx(1e-4, rel=1e-2)


def test_a_mismatch_says_which_output_how_much_and_where() -> None:
    expected = np.zeros((2, 3), np.float32)
    actual = expected.copy()
    actual[1, 2], actual[0, 1] = -0.5, 0.25
    with pytest.raises(ConversionError) as raised:
        require_agreement(["fine", "logits"], [expected, expected], [expected, actual], Tolerance())
    assert str(raised.value) == (
        "output 'logits': largest difference 0.5 at [1, 2], torch 0.0, ONNX -0.5;"
        " 2 of 6 elements are beyond rtol 0.001, atol 0.0001"
    )


def test_relative_and_absolute_tolerance() -> None:
    big = np.float64(1e6)
    assert _agree(big, big + 1, rtol=1e-5, atol=0.0) == 1
    with pytest.raises(ConversionError):
        _agree(big, big + 100, rtol=1e-5, atol=0.0)
    assert _agree(np.float64(0), np.float64(0.5), rtol=0.0, atol=0.5) == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_agrees_with_itself_only(value: float) -> None:
    array = np.array([value, 1], np.float32)
    assert _agree(array, array) == 0
    for other in (1.0, -value, np.nan, np.inf):
        if not np.array_equal([value], [other], equal_nan=True):
            changed = np.array([other, 1], np.float32)
            with pytest.raises(ConversionError, match=r"at \[0\]"):
                _agree(array, changed, atol=1e30)
            with pytest.raises(ConversionError, match=r"at \[0\]"):
                _agree(changed, array, atol=1e30)


def test_integers_are_exact_unless_told_otherwise() -> None:
    # Two neighbours that float64 cannot tell apart.
    with pytest.raises(ConversionError):
        _agree(np.int64(2**60), np.int64(2**60 + 1))
    assert _agree(np.int64(5), np.int64(6), atol=1.0) == 1


def test_booleans_are_exact_in_any_case() -> None:
    assert _agree([True, False], [True, False]) == 0
    with pytest.raises(ConversionError):
        _agree([True, False], [True, True], atol=5.0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_tolerances_follow_the_type(name: str) -> None:
    from surplus.engine.convert.input_spec import DTYPES

    one = np.ones(2, DTYPES[name])
    step = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-3, "float64": 1e-6}[name]
    _agree(one, (one * (1 + 0.8 * step)).astype(one.dtype))
    with pytest.raises(ConversionError):
        _agree(one, (one * (1 + 4 * step)).astype(one.dtype))


def test_empty_and_scalar_outputs() -> None:
    assert _agree(np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)) == 0
    with pytest.raises(ConversionError, match=r"largest difference 2, torch 1\.0, ONNX 3\.0"):
        _agree(np.float32(1), np.float32(3))


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (np.zeros((3, 2), np.float32), r"torch has shape \(2, 3\), the ONNX model \(3, 2\)"),
        (np.zeros((2, 3), np.float64), "torch has type float32, the ONNX model float64"),
    ],
)
def test_shape_and_type(actual: np.ndarray, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        _agree(np.zeros((2, 3), np.float32), actual)


def test_number_of_outputs() -> None:
    with pytest.raises(ConversionError, match="torch has 1 outputs, the ONNX model 0"):
        require_agreement(["y"], [np.zeros(1)], [], Tolerance())


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_tolerances_that_are_none(value: float) -> None:
    with pytest.raises(ConfigError, match="rtol must be finite and >= 0"):
        Tolerance(rtol=value)
