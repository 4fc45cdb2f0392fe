"""The mixture-of-experts layer against numpy, token by token, in both routings."""

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
    normalise,
    softmax,
    weight_count,
)

SMALL: dict[str, Any] = {"tokens": 12, "hidden": 8, "experts": 4, "expansion": 3}


def mixed(token: Array, w: Weights, top: int) -> Array:
    """What the experts of one normalised token give together."""
    logits = linear(token, w, "router/logits")
    taken = np.argsort(-logits)[:top]
    gates = softmax(logits)[taken] if top == 1 else softmax(logits[taken])
    outputs = [
        linear(np.maximum(linear(token, w, f"expert{e}/expand"), 0.0), w, f"expert{e}/contract")
        for e in taken
    ]
    return np.asarray(gates @ np.array(outputs))


@pytest.mark.parametrize("routing", ["dense", "gather"])
@pytest.mark.parametrize("top", [1, 2, 4])
def test_computes_what_the_papers_say(routing: str, top: int, run: Callable) -> None:
    model = models.build("moe", **SMALL, top=top, routing=routing)
    w = disturbed_weights(model)
    x = models.example_inputs("moe", **SMALL)["x"]
    normed = normalise(x.astype(np.float64), w["norm.scale"], w["norm.shift"], 1e-5)
    expected = x + np.array([mixed(token, w, top) for token in normed])
    assert_close(run(model, {"x": x})["y"], expected)


def test_experts_without_tokens_are_left_out(run: Callable) -> None:
    # One token of six experts: five compute on no rows at all.
    params = {"tokens": 1, "hidden": 8, "experts": 6, "top": 1}
    x = models.example_inputs("moe", **params)["x"]
    dense, routed = (
        run(models.build("moe", **params, routing=routing), {"x": x})["y"]
        for routing in ("dense", "gather")
    )
    np.testing.assert_allclose(routed, dense, rtol=1e-5, atol=1e-6)
    assert np.abs(dense - x).max() > 1e-3


def test_weights_follow_the_closed_form() -> None:
    router, norm = 8 * 4 + 4, 2 * 8
    expert = 8 * 24 + 24 + 24 * 8 + 8
    assert weight_count(models.build("moe", **SMALL)) == 4 * expert + router + norm


def test_experts_hold_nearly_all_weights() -> None:
    model = models.build("moe")
    in_experts = sum(len(t.raw_data) for t in model.graph.initializer if "expert" in t.name)
    assert in_experts > 0.99 * sum(len(t.raw_data) for t in model.graph.initializer)


@pytest.mark.parametrize(
    # Dense: the first layers of all beside the router. Gathered: three readers of each's rows.
    ("experts", "routing", "widest"),
    [(8, "dense", 9), (16, "gather", 48)],
)
def test_is_as_wide_as_its_experts(
    experts: int, routing: str, widest: int, basic_shape: Callable
) -> None:
    params = {"hidden": 8, "experts": experts, "routing": routing}
    shape = basic_shape(models.build("moe", **params))
    assert (shape.max_in, shape.widest_level) == (experts, widest)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tokens": 0}, "tokens must be at least 1, got 0"),
        ({"expansion": 0}, "expansion must be at least 1, got 0"),
        ({"top": 0}, "top must be within 1..8, got 0"),
        ({"top": 9}, "top must be within 1..8, got 9"),
        ({"routing": "sparse"}, "routing must be one of dense, gather, got 'sparse'"),
    ],
)
def test_values_out_of_range_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("moe", **params)
