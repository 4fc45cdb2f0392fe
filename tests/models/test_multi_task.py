"""The multi-task model, with a shared bottom and with gated experts, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surplus import models
from tests.models.numpy_layers import (
    Array,
    Weights,
    assert_close,
    disturbed_weights,
    linear,
    perceptron,
    sigmoid,
    softmax,
    weight_count,
)

SMALL = {"tasks": 3, "features": 7, "width": 10, "head_layers": 2, "batch": 5}


def reference(x: Array, w: Weights, task: int, experts: int) -> Array:
    if experts:
        outputs = [perceptron(x, w, f"expert{i}", 2) for i in range(experts)]
        shares = softmax(linear(x, w, f"task{task}/gate"))
        features = sum(shares[:, i : i + 1] * out for i, out in enumerate(outputs))
    else:
        features = perceptron(x, w, "bottom", 2)
    # Two layers of the full width, one of half.
    return sigmoid(linear(perceptron(features, w, f"task{task}", 3), w, f"task{task}/logit"))


@pytest.mark.parametrize("experts", [0, 1, 4])
def test_computes_what_the_paper_says(experts: int, run: Callable) -> None:
    model = models.build("multi_task", **SMALL, experts=experts)
    w = disturbed_weights(model)
    inputs = models.example_inputs("multi_task", **SMALL)
    outputs = run(model, inputs)
    assert list(outputs) == ["task0", "task1", "task2"]
    for task in range(3):
        expected = reference(inputs["x"].astype(np.float64), w, task, experts)
        assert_close(outputs[f"task{task}"], expected)


@pytest.mark.parametrize("experts", [0, 4])
def test_weights_follow_the_closed_form(experts: int) -> None:
    bottom = 7 * 10 + 10 + 10 * 10 + 10
    head = 2 * (10 * 10 + 10) + 10 * 5 + 5 + 5 + 1
    gate = 7 * experts + experts
    expected = max(1, experts) * bottom + 3 * (head + gate)
    assert weight_count(models.build("multi_task", **SMALL, experts=experts)) == expected


@pytest.mark.parametrize(("tasks", "experts", "widest"), [(8, 0, 8), (16, 0, 16), (8, 4, 12)])
def test_is_as_wide_as_its_heads(
    tasks: int, experts: int, widest: int, basic_shape: Callable
) -> None:
    # Gates start beside the experts, as both read the input.
    shape = basic_shape(models.build("multi_task", tasks=tasks, experts=experts))
    assert shape.widest_level == widest


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tasks": 0}, "tasks must be at least 1, got 0"),
        ({"head_layers": 0}, "head_layers must be at least 1, got 0"),
        ({"width": 7}, "width must be a multiple of 2, got 7"),
        ({"width": 0}, "width must be a multiple of 2, got 0"),
        ({"experts": -1}, "experts must be at least 0, got -1"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
    ],
)
def test_sizes_out_of_range_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("multi_task", **params)
