"""Sequences of tensors as lists of arrays, in one call."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from surplus.engine import _core
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value

load_runtime()

SHAPES: dict[str, list[tuple[int, ...]]] = {
    "alike": [(2, 3)] * 5,
    "others": [(2, 3), (1,), (4, 1, 2)],
    "scalars": [(), (), ()],
    "empty ones": [(0, 3), (0, 3)],
    "some empty": [(2,), (0,), (3,)],
    "large": [(40, 50), (2, 2)],
    "large later": [(2, 2), (40, 50)],
}
TYPES = [np.float32, np.float16, np.float64, np.int8, np.uint64, np.bool_]


def parts_of(shapes: list[tuple[int, ...]], dtype: npt.DTypeLike) -> list[npt.NDArray[Any]]:
    rng = np.random.default_rng(0)
    return [np.asarray(rng.integers(0, 5, shape)).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shapes", SHAPES)
def test_parts_come_as_they_went_in(shapes: str, dtype: Any) -> None:
    parts = parts_of(SHAPES[shapes], dtype)
    found = from_value(to_value(parts))
    assert [(a.dtype, a.shape, a.tolist()) for a in found] == [
        (a.dtype, a.shape, a.tolist()) for a in parts
    ]


@pytest.mark.parametrize("shapes", SHAPES)
def test_they_belong_to_the_caller(shapes: str) -> None:
    parts = parts_of(SHAPES[shapes], np.float32)
    value = to_value(parts)
    found, again = from_value(value), from_value(value)
    for i, array in enumerate(found):
        array[...] = 9
        assert not any(np.shares_memory(array, other) for other in (*parts, *again))
        assert all(np.all(other != 9) for other in found[i + 1 :])


def test_an_empty_sequence() -> None:
    assert from_value(_core.Value.sequence([], 1)) == []


def test_parts_of_types_that_numpy_lacks() -> None:
    parts = [np.array([1, 2], ml_dtypes.bfloat16), np.array([3], ml_dtypes.bfloat16)]
    value = to_value(parts)
    assert value.arrays() is None
    assert [a.tolist() for a in from_value(value)] == [[1, 2], [3]]


def test_strings() -> None:
    parts = [np.array(["a", "b"], object), np.array([["c"]], object)]
    assert [a.tolist() for a in from_value(to_value(parts))] == [["a", "b"], [["c"]]]


def test_a_tensor_is_none() -> None:
    assert _core.Value.zeros(1, [2]).arrays() is None


def test_bytes_of_many_parts_are_about_right() -> None:
    parts = [np.zeros(n % 7, np.float32) for n in range(1000)]
    exact = sum(part.nbytes for part in parts)
    assert abs(to_value(parts).nbytes - exact) < 0.1 * exact
