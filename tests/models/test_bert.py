"""BERT against numpy, and BERT-large against its published size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from surplus import models
from surplus.models.bert import BertLargeParams, BertParams
from tests.models.numpy_layers import (
    Array,
    Weights,
    assert_close,
    disturbed_weights,
    gelu,
    normalise,
    softmax,
    weight_count,
)

SMALL = {"layers": 2, "hidden": 128, "sequence": 16, "vocabulary": 50}
HEADS = 2


def closed_form(params: BertParams) -> int:
    """Weights of embeddings, layers and pooler [Devlin et al. 2019, section 3]."""
    h = params.hidden
    embeddings = (params.vocabulary + 2 + params.sequence) * h + 2 * h
    layer = 4 * (h * h + h) + (4 * h * h + 4 * h) + (4 * h * h + h) + 4 * h
    return embeddings + params.layers * layer + h * h + h


def test_bert_large_has_335_million_weights() -> None:
    # 512 positions, as the original stores them.
    assert closed_form(BertLargeParams(sequence=512)) == 335_141_888


@pytest.mark.parametrize("name", ["bert_base", "bert_large"])
def test_weights_follow_the_closed_form(name: str) -> None:
    model = models.build(name, **SMALL)
    assert weight_count(model) == closed_form(BertParams(**SMALL))


def test_bert_large_is_bert_base_of_other_defaults() -> None:
    large, base = models.info("bert_large"), models.info("bert_base")
    assert list(large.parameters) == list(base.parameters)
    assert large.parameters | {"layers": 12, "hidden": 768} == base.parameters
    # 50 operators a layer: 2 x 9 of normalisations, 5 of GELU, 2 x 6 linear, 15 of attention and
    # residuals; 21 around them.
    shallow = {"hidden": 64, "vocabulary": 20, "sequence": 8}
    nodes = [len(m.build(**shallow).graph.node) for m in (base, large)]
    assert nodes == [21 + 12 * 50, 21 + 24 * 50]


def attention(x: Array, w: Weights, scope: str, bias: Array) -> Array:
    def project(name: str, value: Array) -> Array:
        return value @ w[f"{scope}/{name}.weight"] + w[f"{scope}/{name}.bias"]

    query, key, value = (
        project(name, x).reshape(len(x), HEADS, 64) for name in ("query", "key", "value")
    )
    heads = [softmax(query[:, h] @ key[:, h].T / 8.0 + bias) @ value[:, h] for h in range(HEADS)]
    return project("output", np.concatenate(heads, axis=1))


def reference(inputs: dict[str, Array], w: Weights) -> tuple[Array, Array]:
    """One sequence, token by token rows."""
    ids, types, mask = (
        inputs[name][0] for name in ("input_ids", "token_type_ids", "attention_mask")
    )

    def norm(x: Array, scope: str) -> Array:
        return normalise(x, w[f"{scope}/norm/scale"], w[f"{scope}/norm/shift"], 1e-12)

    x = w["embeddings/words.weight"][ids] + w["embeddings/types.weight"][types]
    x = norm(x + w["embeddings/positions.weight"][0], "embeddings")
    for layer in range(SMALL["layers"]):
        scope = f"layer{layer}/attention"
        x = norm(x + attention(x, w, scope, (1.0 - mask) * -10000.0), scope)
        scope = f"layer{layer}/feed_forward"
        inner = gelu(x @ w[f"{scope}/expand.weight"] + w[f"{scope}/expand.bias"])
        x = norm(x + inner @ w[f"{scope}/contract.weight"] + w[f"{scope}/contract.bias"], scope)
    return x, np.tanh(x[0] @ w["pooler.weight"].T + w["pooler.bias"])


def test_computes_what_the_paper_says(run: Callable) -> None:
    model = models.build("bert_large", **SMALL)
    w = disturbed_weights(model)
    inputs = models.example_inputs("bert_large", **SMALL)
    inputs["token_type_ids"][0, 8:] = 1
    outputs = run(model, inputs)
    hidden, pooled = reference(inputs, w)
    assert_close(outputs["last_hidden_state"][0], hidden)
    assert_close(outputs["pooler_output"][0], pooled)
