"""Do two sets of outputs agree, and if not: which one, by how much, where?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from surplus.engine.convert.ties import differs_by_ties
from surplus.engine.errors import ConfigError, ConversionError

Array = np.ndarray[Any, Any]

_FLOATS: dict[np.dtype[Any], tuple[float, float]] = {
    np.dtype(np.float64): (1e-6, 1e-8),
    np.dtype(np.float32): (1e-3, 1e-4),
    np.dtype(np.float16): (1e-2, 1e-2),
    np.dtype(ml_dtypes.bfloat16): (5e-2, 5e-2),
}


@dataclass(frozen=True)
class Tolerance:
    """``|a - b| <= atol + rtol * |b|`` is agreement.

    Parameters
    ----------
    rtol, atol : float or None
        None: by the element type, and 0 for integers. Booleans must be equal in any case.

    Raises
    ------
    ConfigError
        If one is negative, infinite or not a number.
    """

    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if value is not None and not 0 <= value < math.inf:
                raise ConfigError(f"{name} must be finite and >= 0, got {value}")

    def of(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The relative and the absolute tolerance of an element type."""
        rtol, atol = _FLOATS.get(dtype, (0.0, 0.0))
        return (
            rtol if self.rtol is None else self.rtol,
            atol if self.atol is None else self.atol,
        )


def require_agreement(
    names: Sequence[str],
    expected: Sequence[Array],
    actual: Sequence[Array],
    tolerance: Tolerance,
) -> float:
    """Compare output by output.

    Parameters
    ----------
    names : sequence of str
        Of the outputs.
    expected, actual : sequences of arrays
        What torch and what the ONNX model answered, in the same order.

    Returns
    -------
    float
        The largest difference over all outputs.

    Raises
    ------
    ConversionError
        Naming the first output that disagrees, its largest difference and where that is.
    """
    if len(expected) != len(actual):
        raise ConversionError(f"torch has {len(expected)} outputs, the ONNX model {len(actual)}")
    pairs = zip(names, expected, actual, strict=True)
    return max((_compared(*pair, tolerance) for pair in pairs), default=0.0)


def agree_but_for_ties(
    expected: Sequence[Array], actual: Sequence[Array], tolerance: Tolerance
) -> bool:
    """Whether what disagrees are rows whose scores tie, in another order (``ties.py``)."""
    pairs = list(zip(expected, actual, strict=False))
    if len(expected) != len(actual) or any(
        a.shape != b.shape or a.dtype != b.dtype for a, b in pairs
    ):
        return False
    return differs_by_ties(
        expected, actual, lambda a, b: ~_differences(a, b, *tolerance.of(a.dtype))[1]
    )


def _compared(name: str, expected: Array, actual: Array, tolerance: Tolerance) -> float:
    for what, theirs, ours in (
        ("type", expected.dtype, actual.dtype),
        ("shape", expected.shape, actual.shape),
    ):
        if theirs != ours:
            raise ConversionError(
                f"output {name!r}: torch has {what} {theirs}, the ONNX model {ours}"
            )
    rtol, atol = tolerance.of(expected.dtype)
    apart, beyond = _differences(expected, actual, rtol, atol)
    if beyond.any():
        raise ConversionError(_mismatch(name, expected, actual, apart, beyond, (rtol, atol)))
    return float(np.max(apart, initial=0.0))


def _differences(expected: Array, actual: Array, rtol: float, atol: float) -> tuple[Array, Array]:
    """Absolute differences (infinite where one is not a number), and which are too large."""
    # Equality in their own type: int64 does not fit into float64.
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    a, b = _wide(actual), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
        # An infinite bound would allow anything; where one side is infinite only equality counts.
        allowed = np.where(np.isfinite(b), atol + rtol * np.abs(b), 0.0)
    apart = np.where(np.isnan(apart), np.inf, apart)
    if expected.dtype.kind == "b" or not (rtol or atol):
        return apart, ~same
    return apart, ~same & ~(apart <= allowed)


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _mismatch(
    name: str,
    expected: Array,
    actual: Array,
    apart: Array,
    beyond: Array,
    tolerances: tuple[float, float],
) -> str:
    worst = np.unravel_index(int(np.argmax(np.where(beyond, apart, -1.0))), apart.shape)
    place = f" at [{', '.join(map(str, worst))}]" if worst else ""
    count = int(np.count_nonzero(beyond))
    return (
        f"output {name!r}: largest difference {float(apart[worst]):.3g}{place}, torch"
        f" {expected[worst]}, ONNX {actual[worst]}; {count} of {apart.size} elements are beyond"
        f" rtol {tolerances[0]:g}, atol {tolerances[1]:g}"
    )
