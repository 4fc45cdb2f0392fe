"""Whether an answer is the one expected, as exactly as the model itself is exact.

What is cut elsewhere rounds otherwise. Mostly that is within what the element type allows. Where it
is not, the model is asked how far it moves by itself: optimised otherwise, and for inputs whose
last bit is another one. A detector whose boxes are about equal, a quantised graph with a value
between two steps, a TopK of ties so say that they are less exact, by how much, at which output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from surplus.engine.contest.relative_difference import relative_difference
from surplus.engine.contest.tied_rows import are_tied_rows

Answer = Mapping[str, Any]
"""Arrays, or lists of them, by the output's name."""

_OF_TYPE: dict[np.dtype[Any], float] = {
    np.dtype(np.float64): 1e-9,
    np.dtype(np.float32): 1e-4,
    np.dtype(np.float16): 2e-2,
    np.dtype(ml_dtypes.bfloat16): 5e-2,
}
"""Of the largest magnitude of an output; 0 for all other types."""

_STEPS = (np.dtype(np.int8), np.dtype(np.uint8))
"""Mostly quantised numbers: one that is rounded is a step away."""

_TIMES_OWN = 10.0
"""Few variations show less than all that a plan may round otherwise."""


@dataclass(frozen=True)
class Apart:
    """The output of an answer that is furthest beyond what is allowed, or nearest to it.

    Parameters
    ----------
    output : str
        Empty where there is none.
    difference : float
        Of the largest magnitude that was expected; infinite where shapes or types differ.
    allowed : float
        For this output of this model.
    """

    output: str = ""
    difference: float = 0.0
    allowed: float = math.inf

    @property
    def is_beyond(self) -> bool:
        """Whether the answer is wrong."""
        return self.difference > self.allowed

    def __str__(self) -> str:
        return f"{self.output!r} is {self.difference:.3g} apart, {self.allowed:.3g} is allowed"


@dataclass
class Expected:
    """What a model answers to some inputs, and how exactly that is known.

    Parameters
    ----------
    answer : mapping
        Of the whole model in one session.
    variations : callable
        Gives answers of the same model that are as right; asked once, and only where it matters.
    """

    answer: Answer
    variations: Callable[[], Iterable[Answer]]
    _own: dict[str, float] | None = field(default=None, init=False)

    def against(self, found: Answer, least: float = 0.0) -> Apart:
        """How far an answer is from it.

        Rows whose scores tie may come in either order (tied_rows.py).

        Parameters
        ----------
        least : float
            Allowed in any case to outputs of floating-point numbers, and to those of 8-bit
            integers, which mostly are quantised ones.
        """
        apart = self._furthest(found, {}, least)
        if not apart.is_beyond:
            return apart
        if self._own is None:
            self._own = self._spread()
        rows = self._rows(found, self._own, least)
        allowed = {row.output: row.allowed for row in rows}
        if any(row.is_beyond for row in rows) and are_tied_rows(self.answer, found, allowed):
            rows = [row for row in rows if not row.is_beyond]
        return max(rows, key=_excess, default=Apart())

    def _furthest(self, found: Answer, own: Mapping[str, float], least: float) -> Apart:
        return max(self._rows(found, own, least), key=_excess, default=Apart())

    def _rows(self, found: Answer, own: Mapping[str, float], least: float) -> list[Apart]:
        return [
            Apart(
                name,
                difference(found.get(name), right),
                max(_allowed(right, least), _TIMES_OWN * own.get(name, 0.0)),
            )
            for name, right in self.answer.items()
        ]

    def _spread(self) -> dict[str, float]:
        """How far each output moves by itself."""
        found = list(self.variations())
        return {
            name: max((difference(v[name], right) for v in found if name in v), default=0.0)
            for name, right in self.answer.items()
        }


def difference(found: Any, expected: Any) -> float:
    """How far an output is from the one expected; of a sequence, its worst item."""
    if isinstance(expected, np.ndarray):
        return relative_difference(found, expected) if isinstance(found, np.ndarray) else math.inf
    if isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return math.inf
        return max(map(difference, found, expected), default=0.0)
    return 0.0 if type(found) is type(expected) and found == expected else math.inf


def _allowed(value: Any, least: float) -> float:
    if isinstance(value, list | tuple):
        return max((_allowed(item, least) for item in value), default=0.0)
    if not isinstance(value, np.ndarray):
        return 0.0
    if value.dtype in _STEPS:
        return least
    of_type = _OF_TYPE.get(value.dtype)
    return 0.0 if of_type is None else max(of_type, least)


def _excess(apart: Apart) -> tuple[bool, float]:
    """What is beyond comes first; then what is far from expected."""
    return apart.is_beyond, apart.difference / apart.allowed if apart.allowed else apart.difference
