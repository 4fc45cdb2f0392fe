"""How far an answer is from the one expected, by the largest number of it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_NO_NUMBERS = "OSUc"
"""Kinds of types that are compared for equality; bfloat16 and the like are of another kind."""


def relative_difference(found: Array, expected: Array) -> float:
    """Largest difference of two arrays over the largest magnitude that was expected.

    Returns
    -------
    float
        Infinite where shapes, types, what is not finite or what is no number differ, and where
        only zeros were expected.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if expected.dtype.kind in _NO_NUMBERS:
        return 0.0 if np.array_equal(found, expected) else float("inf")
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(_not_finite(a), _not_finite(b), equal_nan=True):
        return float("inf")
    apart = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    if apart == 0:
        return 0.0
    largest = float(np.abs(b[finite]).max(initial=0.0))
    return apart / largest if largest else float("inf")


def _not_finite(array: Array) -> Array:
    """Zeros, and where there is one what is infinite or no number."""
    return np.where(np.isfinite(array), 0.0, array)
