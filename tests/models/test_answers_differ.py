"""Recommenders, experts and wide graphs: each output answers to each input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surplus import models

SMALL: dict[str, dict[str, Any]] = {
    "bert_large": {"layers": 2, "hidden": 64, "sequence": 16, "vocabulary": 50},
    "deepfm": {"rows": 50, "batch": 4},
    "moe": {"tokens": 6, "hidden": 16},
    "multi_task": {"experts": 3},
    "random_wide": {"cross": 0.2},
    "two_tower": {"rows": 50, "batch": 4, "hidden": 32},
}


@pytest.mark.parametrize("name", SMALL)
def test_outputs_follow_every_input(name: str, run: Callable) -> None:
    params = SMALL[name]
    model = models.build(name, **params)
    inputs, others = (models.example_inputs(name, seed, **params) for seed in (0, 1))
    # Of BERT the example has one type of token only.
    others |= {"token_type_ids": 1 - others["token_type_ids"]} if "bert" in name else {}
    before = run(model, inputs)
    for key in inputs.keys() - {"attention_mask"}:
        after = run(model, inputs | {key: others[key]})
        for output, values in after.items():
            assert np.isfinite(values).all()
            assert np.abs(values - before[output]).max() > 1e-3 * np.abs(values).max(), (
                key,
                output,
            )


def test_weights_follow_the_seed() -> None:
    for name, params in SMALL.items():
        first, other = (models.build(name, **params, seed=seed) for seed in (0, 1))
        assert first.graph.initializer != other.graph.initializer
        assert len(first.graph.node) == len(other.graph.node)
