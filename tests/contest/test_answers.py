"""Whether an answer is the one expected."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from surplus.engine.contest.answers import Apart, Expected, difference

X = np.linspace(0, 1, 5, dtype=np.float32)


def _never() -> Iterator[dict[str, Any]]:
    raise AssertionError("it does not matter how exact the model is")
    yield {}


def test_what_the_type_allows_is_right_at_once() -> None:
    apart = Expected({"y": X}, _never).against({"y": X * np.float32(1 + 1e-6)})
    assert not apart.is_beyond
    assert apart.output == "y"
    assert 0 < apart.difference <= apart.allowed == 1e-4


@pytest.mark.parametrize("wrong", [X + np.float32(0.01), X[:4], X.astype(np.float64), None, [X]])
def test_what_is_beyond_is_named(wrong: Any) -> None:
    apart = Expected({"x": X, "y": X}, tuple).against({"x": X, "y": wrong})
    assert apart.is_beyond
    assert str(apart).startswith("'y' is ")


def test_a_model_that_moves_by_itself_may_move_so_far() -> None:
    own = [{"y": X + np.float32(0.002)}]
    expected = Expected({"y": X}, lambda: own)
    assert not expected.against({"y": X + np.float32(0.01)}).is_beyond
    assert expected.against({"y": X + np.float32(0.1)}).is_beyond


def test_another_output_that_moves_allows_this_one_nothing() -> None:
    expected = Expected({"x": X, "y": X}, lambda: [{"x": X + np.float32(1), "y": X}])
    assert expected.against({"x": X, "y": X + np.float32(0.01)}).output == "y"


def test_an_output_of_another_shape_each_time_has_no_measure() -> None:
    expected = Expected({"y": X}, lambda: [{"y": X[:3]}])
    assert not expected.against({"y": X[:2]}).is_beyond


def test_other_kernels_may_differ_more() -> None:
    expected = Expected({"y": X}, tuple)
    assert not expected.against({"y": X * np.float32(1.005)}, least=1e-2).is_beyond
    integers = Expected({"y": np.arange(3)}, tuple)
    assert integers.against({"y": np.arange(3) + 1}, least=1e-2).is_beyond


def test_quantised_numbers_may_be_a_step_away_from_those_of_other_kernels() -> None:
    steps = np.array([0, 100, 200], np.uint8)
    assert Expected({"y": steps}, tuple).against({"y": steps + 1}).is_beyond
    assert not Expected({"y": steps}, tuple).against({"y": steps + 1}, least=1e-2).is_beyond
    assert Expected({"y": steps}, tuple).against({"y": steps + 9}, least=1e-2).is_beyond


def test_sequences_are_as_far_apart_as_their_worst_items() -> None:
    assert difference([X, X], [X, X]) == 0
    assert difference([X, X + np.float32(1)], [X, X]) == pytest.approx(1)
    assert difference([X], [X, X]) == math.inf
    assert difference(None, None) == 0
    assert Expected({}, _never).against({}) == Apart()


def _detections(*order: int, label: int = 3) -> dict[str, Any]:
    """Four boxes with labels and scores, the two in the middle with scores that tie."""
    boxes = np.array([[0, 0, 9, 9], [1, 1, 5, 5], [7, 2, 9, 4], [3, 3, 4, 4]], np.float32)
    labels = np.array([1, 2, label, 4], np.int64)
    scores = np.array([0.9, 0.8, 0.8 * (1 + 1e-6), 0.1], np.float32)
    rows = list(order)
    ranked = np.sort(scores)[::-1].copy()
    return {"boxes": boxes[rows], "labels": labels[rows], "scores": ranked}


def test_detections_whose_scores_tie_may_come_in_either_order() -> None:
    expected = Expected(_detections(0, 1, 2, 3), tuple)
    apart = expected.against(_detections(0, 2, 1, 3))
    assert not apart.is_beyond
    assert apart.difference <= 1e-4
    assert expected.against(_detections(0, 1, 3, 2)).is_beyond  # these do not tie
    assert expected.against(_detections(0, 2, 1, 3, label=7)).is_beyond  # another object
    assert expected.against(_detections(0, 1, 2)).is_beyond


def test_numbers_that_cannot_be_told_apart_are_no_tie() -> None:
    expected = _detections(0, 1, 2, 3)
    expected["labels"] = expected["labels"] + (1 << 40)
    found = _detections(0, 2, 1, 3)
    found["labels"] = found["labels"] + (1 << 40)
    assert Expected(expected, tuple).against(found).is_beyond
