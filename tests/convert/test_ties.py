"""Which differences ties explain, and which they do not."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.engine.convert.agreement import Tolerance, agree_but_for_ties

SCORES = np.array([0.9, 0.5, 0.5 - 6e-8, 0.3, 0.1], np.float32)
BOXES = np.arange(20, dtype=np.float32).reshape(5, 4)
LABELS = np.array([1, 2, 3, 4, 5])


def _explained(order: list[int], scores: np.ndarray = SCORES) -> bool:
    expected = [BOXES, LABELS, scores]
    return agree_but_for_ties(expected, [BOXES[order], LABELS[order], scores], Tolerance())


def test_a_pair_that_ties_is_swapped() -> None:
    assert _explained([0, 2, 1, 3, 4])


@pytest.mark.parametrize("order", [[1, 0, 2, 3, 4], [0, 1, 3, 2, 4], [0, 1, 1, 3, 4]])
def test_rows_that_do_not_tie_stay(order: list[int]) -> None:
    assert not _explained(order)


def test_of_the_lowest_others_may_be_taken() -> None:
    """Which of two that tie comes last of the best five."""
    other = BOXES.copy()
    other[4] += 100
    assert agree_but_for_ties([BOXES, SCORES], [other, SCORES], Tolerance())
    other[3] += 100
    assert not agree_but_for_ties([BOXES, SCORES], [other, SCORES], Tolerance())


def test_where_all_scores_tie_only_the_order_may_differ() -> None:
    same = np.full(5, 0.5, np.float32)
    assert _explained([4, 3, 2, 1, 0], same)
    assert not agree_but_for_ties([BOXES, same], [BOXES + 1, same], Tolerance())


def test_the_best_of_each_of_a_batch() -> None:
    values = np.stack([SCORES, np.full(5, 0.25, np.float32)])
    found = np.stack([LABELS, LABELS])
    swapped = np.stack([LABELS, LABELS[::-1]])
    assert agree_but_for_ties([values, found], [values, swapped], Tolerance())
    assert not agree_but_for_ties([values, found], [values, swapped[::-1]], Tolerance())


def test_scores_that_do_not_fall_rank_nothing() -> None:
    rising = SCORES[::-1].copy()
    assert not _explained([0, 2, 1, 3, 4], rising)


def test_other_shapes_are_not_ties() -> None:
    assert not agree_but_for_ties([BOXES, SCORES], [BOXES[:4], SCORES[:4]], Tolerance())
