"""How far the outputs of two runs are apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def relative_error(found: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """Largest difference of an output over the largest magnitude that was expected of it.

    Returns
    -------
    float
        The worst of all outputs; infinite where a name, a shape, a type or a non-number differs.
    """
    if set(found) != set(expected):
        return float("inf")
    return max((_error(found[name], expected[name]) for name in expected), default=0.0)


def _error(found: Array, expected: Array) -> float:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if expected.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    if expected.size == 0:
        return 0.0
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    finite = np.isfinite(b)
    largest = float(np.abs(b[finite]).max(initial=0.0))
    apart = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    if apart == 0:
        return 0.0
    return apart / largest if largest else float("inf")
