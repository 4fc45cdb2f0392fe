"""Values on which kernels go wrong: bounds of types, signed zeros, ties, NaN, infinities.

What tables of libraries are made with, and the inputs that plans are compared by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FINITE = (
    *(0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.1, -0.3, 7.25),
    *(88.0, -88.0, 127.5, 128.5, 300.0, -300.0, 1e-8, -1e-8, 65504.0, -65504.0, 70000.0),
    *(16777216.0, 16777218.0, 3e9, -3e9, 1e20, -1e20, 1e-40, -1e-40, 3.4e38, -3.4e38),
)
"""Ties of rounding, ends of activations, beyond 16, 24 and 31 bits, denormals, largest ones."""

_NOT_FINITE = (np.nan, np.inf, -np.inf)


def finite_numbers(dtype: Any) -> Array:
    """Numbers of a type that kernels mistake for others, all of them finite.

    Parameters
    ----------
    dtype : dtype
        Of floating-point numbers, whole ones or truth values.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True, True, False, True])
    if kind.kind in "iu":
        return _whole_numbers(kind)
    with np.errstate(over="ignore"):
        numbers: Array = np.array(_FINITE).astype(kind)
    found: Array = numbers[np.isfinite(numbers)]
    return found


def _whole_numbers(kind: np.dtype[Any]) -> Array:
    bounds = np.iinfo(kind)
    edges = [bounds.min, bounds.max, bounds.max - 1, 0, 1, 2, 3, 7, 2**24, 2**24 + 1, 2**31 - 1]
    edges += [-1, -2, -7, -(2**24) - 1, -(2**31)]
    if kind.itemsize == 8:  # what is beyond 32 bits never gets to another library
        edges = edges[3:]
    return np.array([e for e in edges if bounds.min <= e <= bounds.max], kind)


def numbers_of(values: Sequence[Any] | Array, shape: Sequence[int], dtype: Any) -> Array:
    """An array of a shape that holds the values over and over, in their order."""
    return np.resize(np.asarray(values, dtype), tuple(shape))


def ordinary_numbers(shape: Sequence[int], dtype: Any, seed: int = 0) -> Array:
    """Normally distributed numbers; small whole ones, of both signs where the type has them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -5, 6, shape).astype(kind)
    return np.asarray(rng.standard_normal(tuple(shape))).astype(kind)


def with_special_numbers(array: Array) -> Array:
    """A copy in which some numbers are NaN and infinities; of other types as it is.

    They stand in the first three rows (along the last axis), and alone in their rows where a row
    has elements to spare: the first of a row, its middle, its last.
    """
    if array.dtype.kind != "f" or array.size == 0:
        return array
    found = array.copy()
    flat = found.reshape(-1, found.shape[-1] if found.ndim else 1)
    width = flat.shape[1]
    for i, special in enumerate(_NOT_FINITE):
        flat[i % flat.shape[0], (0, width // 2, width - 1)[i]] = special
    return flat.reshape(found.shape)
