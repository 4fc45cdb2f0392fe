"""BERT [Devlin et al. 2019] in the primitive operators that exporters write.

Nothing is fused: layer normalisation takes nine nodes, GELU five, each linear layer two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import Init, dense, embedding, gemm
from surplus.models.registry import register

# The last opset at which basic optimisation leaves the layer normalisations unfused is 16;
# exporters of the time wrote 14.
_OPSET = 14
_HEAD_WIDTH = 64
_EPSILON = 1e-12
_EMBEDDING_STD = 0.02

# Linear layers without a rectifier take half of He's variance.
_LINEAR = Init(gain=0.7)


@dataclass(frozen=True)
class BertParams:
    """Parameters of a BERT encoder; the defaults are BERT-base, uncased.

    Parameters
    ----------
    layers, hidden : int
        Encoder layers and width; the width is a multiple of 64, the width of a head.
    sequence : int
        Tokens per sequence, at most 512.
    vocabulary : int
        Rows of the word embedding.
    seed : int
        Seed of the weights.
    """

    layers: int = 12
    hidden: int = 768
    sequence: int = 128
    vocabulary: int = 30522
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.hidden < _HEAD_WIDTH or self.hidden % _HEAD_WIDTH:
            raise ValueError(f"hidden must be a multiple of {_HEAD_WIDTH}, got {self.hidden}")
        if not 1 <= self.sequence <= 512:
            raise ValueError(f"sequence must be within 1..512, got {self.sequence}")
        if self.layers < 1 or self.vocabulary < 1:
            raise ValueError(f"layers and vocabulary must be at least 1, got {self}")


@dataclass(frozen=True)
class BertLargeParams(BertParams):
    """Parameters whose defaults are BERT-large, uncased: 24 layers of 16 heads, 335 M weights.

    Parameters
    ----------
    layers, hidden, sequence, vocabulary, seed
        As in `BertParams`.
    """

    layers: int = 24
    hidden: int = 1024


def build_bert(params: BertParams) -> onnx.ModelProto:
    """Build BERT: ids, types and mask (batch, sequence) to hidden states and a pooled vector."""
    b = GraphBuilder("bert", params.seed, _OPSET)
    shape = ("batch", params.sequence)
    ids, types, mask = (
        b.input(name, shape, TensorProto.INT64)
        for name in ("input_ids", "token_type_ids", "attention_mask")
    )
    x = _embed(b, params, ids, types)
    bias = _mask_bias(b, mask)
    for layer in range(params.layers):
        with b.scope(f"layer{layer}"):
            x = _encoder_layer(b, x, bias, params.hidden)
    first = b.op("Gather", x, b.index(0), axis=1, name="first_token")
    width = (params.hidden, params.hidden)
    pooled = b.op("Tanh", gemm(b, first, "pooler", width, _LINEAR))
    b.output(x, "last_hidden_state", (*shape, params.hidden))
    b.output(pooled, "pooler_output", ("batch", params.hidden))
    return b.build("BERT encoder, seeded weights, unfused")


def _embed(b: GraphBuilder, params: BertParams, ids: str, types: str) -> str:
    with b.scope("embeddings"):
        words = embedding(b, ids, "words", (params.vocabulary, params.hidden), _EMBEDDING_STD)
        kinds = embedding(b, types, "types", (2, params.hidden), _EMBEDDING_STD)
        table = b.weight_rng("positions").standard_normal(
            (1, params.sequence, params.hidden), dtype=np.float32
        )
        positions = b.initializer(b.path("positions.weight"), table * np.float32(_EMBEDDING_STD))
        x = b.op("Add", b.op("Add", words, kinds), positions)
        return _layer_norm(b, x, params.hidden)


def _mask_bias(b: GraphBuilder, mask: str) -> str:
    """Turn 1 for a token and 0 for padding into 0 and -10000, added to attention logits."""
    wide = b.op("Unsqueeze", b.op("Unsqueeze", mask, b.ints(1)), b.ints(2))
    absent = b.op("Sub", b.constant(1.0), b.op("Cast", wide, to=TensorProto.FLOAT))
    return b.op("Mul", absent, b.constant(-10000.0), name="mask_bias")


def _encoder_layer(b: GraphBuilder, x: str, mask_bias: str, hidden: int) -> str:
    with b.scope("attention"):
        context = _attention(b, x, mask_bias, hidden)
        projected = dense(b, context, "output", (hidden, hidden), _LINEAR)
        x = _layer_norm(b, b.op("Add", projected, x, name="residual"), hidden)
    with b.scope("feed_forward"):
        y = _gelu(b, dense(b, x, "expand", (hidden, 4 * hidden)))
        y = dense(b, y, "contract", (4 * hidden, hidden), _LINEAR)
        return _layer_norm(b, b.op("Add", y, x, name="residual"), hidden)


def _attention(b: GraphBuilder, x: str, mask_bias: str, hidden: int) -> str:
    query, key, value = (
        _split_heads(b, dense(b, x, name, (hidden, hidden), _LINEAR), hidden, order)
        for name, order in (
            ("query", [0, 2, 1, 3]),
            ("key", [0, 2, 3, 1]),
            ("value", [0, 2, 1, 3]),
        )
    )
    logits = b.op("MatMul", query, key, name="logits")
    scaled = b.op("Div", logits, b.constant(np.sqrt(_HEAD_WIDTH)))
    weights = b.op("Softmax", b.op("Add", scaled, mask_bias), axis=-1, name="weights")
    context = b.op("MatMul", weights, value, name="context")
    by_token = b.op("Transpose", context, perm=[0, 2, 1, 3])
    return b.op("Reshape", by_token, b.ints(0, 0, hidden), name="join_heads")


def _split_heads(b: GraphBuilder, x: str, hidden: int, order: list[int]) -> str:
    heads = b.ints(0, 0, hidden // _HEAD_WIDTH, _HEAD_WIDTH)
    return b.op("Transpose", b.op("Reshape", x, heads), perm=order)


def _layer_norm(b: GraphBuilder, x: str, hidden: int) -> str:
    with b.scope("norm"):
        centred = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1], keepdims=1))
        squares = b.op("Pow", centred, b.constant(2.0))
        variance = b.op("ReduceMean", squares, axes=[-1], keepdims=1)
        deviation = b.op("Sqrt", b.op("Add", variance, b.constant(_EPSILON)))
        scale = b.initializer(b.path("scale"), np.ones(hidden, np.float32))
        shift = b.initializer(b.path("shift"), np.zeros(hidden, np.float32))
        return b.op("Add", b.op("Mul", b.op("Div", centred, deviation), scale), shift)


def _gelu(b: GraphBuilder, x: str) -> str:
    with b.scope("gelu"):
        erf = b.op("Erf", b.op("Div", x, b.constant(np.sqrt(2.0))))
        product = b.op("Mul", x, b.op("Add", erf, b.constant(1.0)))
        return b.op("Mul", product, b.constant(0.5))


def bert_inputs(params: BertParams, seed: int) -> dict[str, Array]:
    """Make one sequence of random tokens whose last eighth is padding."""
    rng = np.random.default_rng(seed)
    shape = (1, params.sequence)
    mask = np.ones(shape, np.int64)
    mask[:, params.sequence - params.sequence // 8 :] = 0
    return {
        "input_ids": rng.integers(0, params.vocabulary, shape),
        "token_type_ids": np.zeros(shape, np.int64),
        "attention_mask": mask,
    }


register(
    "bert_base",
    family="language",
    description="BERT-base, 128 tokens, unfused: about 620 operators",
    params=BertParams,
    build=build_bert,
    example_inputs=bert_inputs,
)
register(
    "bert_large",
    family="language",
    description="BERT-large, 128 tokens, unfused: about 1220 operators, 1.3 GB of weights",
    params=BertLargeParams,
    build=build_bert,
    example_inputs=bert_inputs,
)
