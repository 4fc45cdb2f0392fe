"""The two towers against numpy."""

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
    weight_count,
)

SMALL = {
    "user_fields": 3,
    "item_fields": 2,
    "history": 4,
    "rows": 15,
    "width": 6,
    "hidden": 16,
    "batch": 5,
}


def tower(features: list[Array], w: Weights, scope: str) -> Array:
    x = perceptron(np.concatenate(features, axis=1), w, scope, 2)
    x = linear(x, w, f"{scope}/vector")
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def reference(inputs: dict[str, Array], w: Weights) -> Array:
    user, history, item = (inputs[name] for name in ("user", "history", "item"))
    features = [w[f"user/field{i}.weight"][user[:, i]] for i in range(3)]
    features.append(w["item/field0.weight"][history].mean(axis=1))
    items = [w[f"item/field{i}.weight"][item[:, i]] for i in range(2)]
    cosine = (tower(features, w, "user") * tower(items, w, "item")).sum(axis=1, keepdims=True)
    return np.asarray(cosine / 0.05)


def test_computes_what_its_papers_say(run: Callable) -> None:
    model = models.build("two_tower", **SMALL)
    w = disturbed_weights(model)
    inputs = models.example_inputs("two_tower", **SMALL)
    assert_close(run(model, inputs)["score"], reference(inputs, w))


def test_weights_follow_the_closed_form() -> None:
    tables = (3 + 2) * 15 * 6
    rest = 16 * 8 + 8 + 8 * 4 + 4
    towers = (4 * 6 * 16 + 16 + rest) + (2 * 6 * 16 + 16 + rest)
    assert weight_count(models.build("two_tower", **SMALL)) == tables + towers


def test_all_features_are_looked_up_side_by_side(basic_shape: Callable) -> None:
    shape = basic_shape(models.build("two_tower", rows=10, hidden=16))
    # A column of each of 10 + 8 fields, and the history.
    assert shape.widest_level == 19
    assert shape.max_in == 11


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"user_fields": 0}, "user_fields must be at least 1, got 0"),
        ({"item_fields": 0}, "item_fields must be at least 1, got 0"),
        ({"history": 0}, "history must be at least 1, got 0"),
        ({"hidden": 0}, "hidden must be a multiple of 4, got 0"),
        ({"hidden": 30}, "hidden must be a multiple of 4, got 30"),
    ],
)
def test_sizes_out_of_range_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("two_tower", **params)
