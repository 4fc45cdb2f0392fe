"""DeepFM [Guo et al. 2017]: a factorisation machine and a deep network on shared embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import ZERO_MEAN, Init, embedding, gemm, he_normal
from surplus.models.perceptron import perceptron
from surplus.models.registry import register

# Section 3.1: what the paper found best on Criteo.
_DEEP = (400, 400, 400)


@dataclass(frozen=True)
class DeepFmParams:
    """Parameters of DeepFM; the defaults are Criteo's fields and the paper's network.

    Parameters
    ----------
    sparse_fields, dense_fields : int
        Categorical fields, a table each, and continuous ones, a vector each.
    rows, width : int
        Categories of each sparse field, and length of an embedding.
    batch : int
        Samples per query; with more than a few dozen the three deep layers take most of the time.
    seed : int
        Seed of the weights.
    """

    sparse_fields: int = 26
    dense_fields: int = 13
    rows: int = 10_000
    width: int = 10
    batch: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("sparse_fields", "dense_fields", "rows", "width", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def fields(self) -> int:
        """All fields."""
        return self.sparse_fields + self.dense_fields


def build_deepfm(params: DeepFmParams) -> onnx.ModelProto:
    """Build DeepFM: dense (batch, fields), sparse (batch, fields) to probability (batch, 1).

    References
    ----------
    Guo et al. 2017: eq. 1 adds both parts, eq. 2 is the factorisation machine, eq. 4 the deep
    part. The sum over all pairs in eq. 2 is computed in linear time [Rendle 2010, lemma 3.1].
    """
    b = GraphBuilder("deepfm", params.seed)
    dense = b.input("dense", (params.batch, params.dense_fields))
    sparse = b.input("sparse", (params.batch, params.sparse_fields), TensorProto.INT64)
    columns = [
        b.op("Gather", sparse, b.index(field), axis=1, name=f"sparse{field}/column")
        for field in range(params.sparse_fields)
    ]
    rows = [_embed_category(b, column, field, params) for field, column in enumerate(columns)]
    rows += [_embed_number(b, dense, field, params) for field in range(params.dense_fields)]
    stacked = b.op("Concat", *rows, axis=1, name="embeddings")
    linear = _first_order(b, dense, columns, params)
    machine = b.op("Add", linear, _second_order(b, stacked), name="machine")
    logit = b.op("Add", machine, _deep(b, stacked, params), name="logit")
    b.output(b.op("Sigmoid", logit), "probability", (params.batch, 1))
    return b.build("DeepFM, seeded weights")


def _embedding_std(params: DeepFmParams) -> float:
    """Deviation of an embedding's entries that gives the sum over all pairs deviation 1."""
    pairs = max(1, params.fields * (params.fields - 1) // 2)
    return float((pairs * params.width) ** -0.25)


def _embed_category(b: GraphBuilder, column: str, field: int, params: DeepFmParams) -> str:
    """Look a sparse field's vector up, giving (batch, 1, width)."""
    with b.scope(f"sparse{field}"):
        shape = (params.rows, params.width)
        vector = embedding(b, column, "vector", shape, _embedding_std(params))
        return b.op("Unsqueeze", vector, b.ints(1), name="row")


def _embed_number(b: GraphBuilder, dense: str, field: int, params: DeepFmParams) -> str:
    """Scale a dense field's vector by its value, giving (batch, 1, width)."""
    with b.scope(f"dense{field}"):
        vector = b.weight_rng("vector").standard_normal((1, params.width), dtype=np.float32)
        vector *= np.float32(_embedding_std(params))
        value = b.op("Gather", dense, b.ints(field), axis=1, name="value")
        scaled = b.op("Mul", value, b.initializer(b.path("vector.weight"), vector), name="vector")
        return b.op("Unsqueeze", scaled, b.ints(1), name="row")


def _first_order(b: GraphBuilder, dense: str, columns: list[str], params: DeepFmParams) -> str:
    """Sum one weight per category and one per number, giving (batch, 1): <w, x> of eq. 2."""
    with b.scope("first_order"):
        std = params.fields**-0.5
        weights = [
            embedding(b, column, f"sparse{field}", (params.rows, 1), std)
            for field, column in enumerate(columns)
        ]
        joined = b.op("Concat", *weights, axis=1, name="sparse")
        total = b.op("ReduceSum", joined, b.ints(1), keepdims=1, name="sum")
        slopes = he_normal(b.weight_rng("dense"), (1, params.dense_fields), Init(gain=0.7)).T
        weight = b.initializer(b.path("dense.weight"), np.asarray(slopes, order="C"))
        return b.op("Add", total, b.op("MatMul", dense, weight, name="dense"))


def _second_order(b: GraphBuilder, stacked: str) -> str:
    """Sum the dot products of all pairs of rows of (batch, fields, width), giving (batch, 1)."""
    with b.scope("second_order"):
        total = b.op("ReduceSum", stacked, b.ints(1), keepdims=0, name="sum")
        square_of_sum = b.op("Mul", total, total, name="square_of_sum")
        squares = b.op("Mul", stacked, stacked, name="squares")
        sum_of_squares = b.op("ReduceSum", squares, b.ints(1), keepdims=0, name="sum_of_squares")
        twice = b.op("Sub", square_of_sum, sum_of_squares)
        return b.op(
            "Mul", b.op("ReduceSum", twice, b.ints(1), keepdims=1), b.constant(0.5), name="pairs"
        )


def _deep(b: GraphBuilder, stacked: str, params: DeepFmParams) -> str:
    with b.scope("deep"):
        flat = b.op("Flatten", stacked, axis=1, name="flatten")
        x = perceptron(b, flat, (params.fields * params.width, *_DEEP))
        return gemm(b, x, "click", (_DEEP[-1], 1), ZERO_MEAN)


def deepfm_inputs(params: DeepFmParams, seed: int) -> dict[str, Array]:
    """Make a batch of log-normal numbers and uniform categories."""
    rng = np.random.default_rng(seed)
    dense = np.log1p(rng.lognormal(size=(params.batch, params.dense_fields)))
    shape = (params.batch, params.sparse_fields)
    return {"dense": dense.astype(np.float32), "sparse": rng.integers(0, params.rows, shape)}


register(
    "deepfm",
    family="recommender",
    description="DeepFM, 26 sparse and 13 dense fields, batch 16: 166 operators, 65 wide",
    params=DeepFmParams,
    build=build_deepfm,
    example_inputs=deepfm_inputs,
)
