"""Rows that two answers give in another order because what they are ordered by ties.

TopK and NonMaxSuppression order candidates by scores; those that tie within rounding come in either
order, or, as the last ones, not at all. Both answers are right then. A row is what stands at
one index of an axis, in all outputs that have it: a box, its label and its score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

Agrees = Callable[[Array, Array], Array]
"""Which elements of two arrays agree."""

_MOST_ROWS = 10_000
_ULPS = 100
"""So many roundings apart, scores tie."""

_AXES = (0, 1)
"""Where detectors have their rows: behind the batch, or without one."""


def differs_by_ties(expected: Sequence[Array], actual: Sequence[Array], agrees: Agrees) -> bool:
    """Whether the same rows are there, and only those of tying scores stand elsewhere.

    Parameters
    ----------
    expected, actual : sequences of arrays
        All outputs of both, of the same types and shapes.
    agrees : callable
        Element by element, broadcasting.
    """
    pairs = enumerate(zip(expected, actual, strict=True))
    wrong = [i for i, (a, b) in pairs if not agrees(a, b).all()]
    return any(_explained(expected, actual, wrong, axis, agrees) for axis in _AXES)


def _explained(
    expected: Sequence[Array], actual: Sequence[Array], wrong: list[int], axis: int, agrees: Agrees
) -> bool:
    if not wrong or any(expected[i].ndim <= axis for i in wrong):
        return False
    lead = expected[wrong[0]].shape[: axis + 1]
    if not 1 < lead[axis] <= _MOST_ROWS or any(
        expected[i].shape[: axis + 1] != lead for i in wrong
    ):
        return False
    rows = [i for i, array in enumerate(expected) if array.shape[: axis + 1] == lead]
    scores = [i for i in rows if _ranks(expected[i], axis) and i not in wrong]
    return any(
        all(
            _same_rows(
                [expected[i][batch] for i in rows],
                [actual[i][batch] for i in rows],
                expected[by][batch],
                agrees,
            )
            for batch in np.ndindex(*lead[:axis])
        )
        for by in scores
    )


def _ranks(scores: Array, axis: int) -> bool:
    """Whether these are numbers that fall along the axis, one a row."""
    if scores.dtype.kind != "f" or scores.size != np.prod(scores.shape[: axis + 1]):
        return False
    falling = scores.reshape(scores.shape[: axis + 1])
    return bool(np.all(falling[..., 1:] <= falling[..., :-1]))


def _same_rows(
    expected: Sequence[Array], actual: Sequence[Array], scores: Array, agrees: Agrees
) -> bool:
    """Each row of tying scores has its like among these; of the lowest, others may be taken."""
    falling = scores.reshape(-1).astype(np.float64)
    apart = _ULPS * float(np.finfo(scores.dtype).eps) * np.abs(falling[:-1])
    ends = np.flatnonzero(~(np.abs(np.diff(falling)) <= apart)) + 1
    groups = np.split(np.arange(falling.size), ends)
    return all(
        not _unmatched([a[rows] for a in expected], [b[rows] for b in actual], agrees)
        for rows in (groups[:-1] if len(groups) > 1 else groups)
    )


def _unmatched(expected: Sequence[Array], actual: Sequence[Array], agrees: Agrees) -> int:
    """How many rows of one have no like in the other."""
    count = expected[0].shape[0]
    free = np.ones(count, np.bool_)
    for row in range(count):
        alike = free.copy()
        for a, b in zip(expected, actual, strict=True):
            alike &= agrees(b, a[row : row + 1]).reshape(count, -1).all(axis=1)
        found = np.flatnonzero(alike)
        free[found[:1]] = False
    return int(free.sum())
