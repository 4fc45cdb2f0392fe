"""Answers that differ in the order of rows whose scores tie, as detectors' do.

As ``engine convert`` judges them (engine/convert/ties.py), by what each output may differ by here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surplus.engine.convert.ties import differs_by_ties

_MOST_INTEGER = 1 << 23
"""Larger ones are not told apart in float32 once they are doubled."""

Array = np.ndarray[Any, Any]


def are_tied_rows(
    expected: Mapping[str, Any], found: Mapping[str, Any], allowed: Mapping[str, float]
) -> bool:
    """Whether all that is beyond ``allowed`` are rows of tying scores in another order.

    Parameters
    ----------
    expected, found : mapping
        Outputs by name.
    allowed : mapping of str to float
        Of the largest magnitude of each output.
    """
    rows: list[tuple[Array, Array]] = []
    for name, right in expected.items():
        other: Any = found.get(name)
        if not (_is_plain(right) and _is_plain(other)):
            return False
        if (right.shape, right.dtype) != (other.shape, other.dtype):
            return False
        rows.append(_in_steps(right, other, allowed[name]))
    return bool(rows) and differs_by_ties(
        [right for right, _ in rows], [other for _, other in rows], _agree
    )


def _is_plain(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        return False
    if value.dtype.kind in "iu":
        return bool(np.all((value < _MOST_INTEGER) & (value.astype(np.float64) > -_MOST_INTEGER)))
    return bool(np.isfinite(value).all())


def _in_steps(right: Array, other: Array, allowed: float) -> tuple[Array, Array]:
    """Such that up to 1 is agreement."""
    if right.dtype.kind == "f":
        scale = float(np.max(np.abs(right), initial=0.0))
        step = allowed * scale or 1.0
    else:
        step = 0.5  # whole numbers are equal or not
    return (right / step).astype(np.float32), (other / step).astype(np.float32)


def _agree(a: Array, b: Array) -> Array:
    agreeing: Array = np.abs(a - b) <= 1.0
    return agreeing
