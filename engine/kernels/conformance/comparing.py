"""The agreement of a library's answer with ONNX Runtime's, number by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases.case import ELEMENT, ROW, STEP

Array = np.ndarray[Any, Any]

_RELATIVE = {2: 1e-2, 4: 1e-4, 8: 1e-9}
_ABSOLUTE = {2: 1e-3, 4: 1e-6, 8: 1e-12}
"""By bytes of a number: what an elementary function may be off, of itself and near 0."""


def agreement(found: Sequence[Array], right: Sequence[Array], rounding: str) -> dict[Aspect, bool]:
    """Whether finite numbers are right, and whether all others are.

    Returns
    -------
    dict
        ``FINITE`` of numbers that are finite in ONNX Runtime's answer, ``MADE`` of the others.
    """
    same = [one.shape == other.shape for one, other in zip(found, right, strict=True)]
    kinds = [one.dtype == other.dtype for one, other in zip(found, right, strict=True)]
    if not (all(same) and all(kinds)):
        return {Aspect.FINITE: False, Aspect.MADE: False}
    pairs = [_agreement(one, other, rounding) for one, other in zip(found, right, strict=True)]
    return {held: all(pair[held] for pair in pairs) for held in (Aspect.FINITE, Aspect.MADE)}


def _agreement(found: Array, right: Array, rounding: str) -> dict[Aspect, bool]:
    if right.dtype.kind != "f":
        steps = 1 if rounding == STEP else 0
        off = np.abs(found.astype(np.int64) - right.astype(np.int64))
        return {Aspect.FINITE: bool((off <= steps).all()), Aspect.MADE: True}
    finite = np.isfinite(right)
    wide, wanted = found.astype(np.float64), right.astype(np.float64)
    made = np.array_equal(wide[~finite], wanted[~finite], equal_nan=True)
    allowed = _allowed(wanted, finite, rounding, right.dtype.itemsize)[finite]
    with np.errstate(invalid="ignore"):
        near = np.abs(wide[finite] - wanted[finite]) <= allowed  # false of NaN
    return {Aspect.FINITE: bool(near.all()), Aspect.MADE: bool(made)}


def _allowed(right: Array, finite: Array, rounding: str, size: int) -> Array:
    magnitude = np.where(finite, np.abs(right), 0.0)
    if rounding == ROW and right.ndim:
        magnitude = np.broadcast_to(magnitude.max(initial=0.0), right.shape)
    elif rounding not in (ELEMENT, ROW):
        return np.zeros_like(magnitude)
    return _RELATIVE[size] * magnitude + _ABSOLUTE[size]
