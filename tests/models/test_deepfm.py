"""DeepFM against numpy: eq. 2 term by term over all pairs, not in its linear form."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
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
    weight_count,
)

SMALL = {"sparse_fields": 4, "dense_fields": 3, "rows": 20, "width": 5, "batch": 6}


def reference(inputs: dict[str, Array], w: Weights) -> Array:
    dense, sparse = inputs["dense"].astype(np.float64), inputs["sparse"]
    vectors = [w[f"sparse{i}/vector.weight"][sparse[:, i]] for i in range(4)]
    vectors += [dense[:, i : i + 1] * w[f"dense{i}/vector.weight"] for i in range(3)]
    first = dense @ w["first_order/dense.weight"]
    for i in range(4):
        first = first + w[f"first_order/sparse{i}.weight"][sparse[:, i]]
    second = sum((a * b).sum(axis=1, keepdims=True) for a, b in combinations(vectors, 2))
    deep = perceptron(np.concatenate(vectors, axis=1), w, "deep", 3)
    return sigmoid(first + second + linear(deep, w, "deep/click"))


def test_computes_what_the_paper_says(run: Callable) -> None:
    model = models.build("deepfm", **SMALL)
    w = disturbed_weights(model)
    inputs = models.example_inputs("deepfm", **SMALL)
    assert_close(run(model, inputs)["probability"], reference(inputs, w))


def test_weights_follow_the_closed_form() -> None:
    fields, width, rows = 7, 5, 20
    tables = 4 * rows * (width + 1) + 3 * (width + 1)
    deep = fields * width * 400 + 400 + 2 * (400 * 400 + 400) + 400 + 1
    assert weight_count(models.build("deepfm", **SMALL)) == tables + deep


def test_all_fields_are_looked_up_side_by_side(basic_shape: Callable) -> None:
    shape = basic_shape(models.build("deepfm", rows=10))
    # A vector and a weight of each of 26 fields, and the products of 13.
    assert shape.widest_level == 2 * 26 + 13
    assert shape.max_in == 39


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dense_fields": 0}, "dense_fields must be at least 1, got 0"),
        ({"sparse_fields": 0}, "sparse_fields must be at least 1, got 0"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
        ({"width": -1}, "width must be at least 1, got -1"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
    ],
)
def test_sizes_out_of_range_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("deepfm", **params)
