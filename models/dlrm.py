"""DLRM [Naumov et al. 2019]: embedding bags beside a small network, joined by dot products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import ZERO_MEAN, embedding, gemm
from surplus.models.perceptron import perceptron
from surplus.models.registry import register

DENSE_FEATURES = 13
_BOTTOM = (512, 256)
_TOP = (512, 256, 128)


@dataclass(frozen=True)
class DlrmParams:
    """Parameters of DLRM.

    Parameters
    ----------
    tables, rows, width : int
        Embedding tables, and the size of each: ``tables * rows * width * 4`` bytes in all.
        26 tables of 100,000 rows make 666 MB; above 1 GB `models.save` stores them apart.
    hot : int
        Look-ups per table and sample, summed.
    batch : int
        Samples per query.
    seed : int
        Seed of the weights.
    """

    tables: int = 26
    rows: int = 10_000
    width: int = 64
    hot: int = 8
    batch: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("tables", "rows", "width", "hot", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def build_dlrm(params: DlrmParams) -> onnx.ModelProto:
    """Build DLRM: dense (batch, 13), sparse (batch, tables, hot) to probability (batch, 1)."""
    b = GraphBuilder("dlrm", params.seed)
    dense = b.input("dense", (params.batch, DENSE_FEATURES))
    shape = (params.batch, params.tables, params.hot)
    sparse = b.input("sparse", shape, TensorProto.INT64)
    columns = b.op_multi("Split", sparse, outputs=params.tables, axis=1, name="columns")
    bags = [_embedding_bag(b, column, table, params) for table, column in enumerate(columns)]
    with b.scope("bottom"):
        features = perceptron(b, dense, (DENSE_FEATURES, *_BOTTOM, params.width))
    pairs = _interact(b, [features, *bags])
    x = b.op("Concat", features, pairs, axis=1, name="top_input")
    count = (params.tables + 1) * params.tables // 2
    with b.scope("top"):
        x = perceptron(b, x, (params.width + count, *_TOP))
        x = gemm(b, x, "click", (_TOP[-1], 1), ZERO_MEAN)
    b.output(b.op("Sigmoid", x), "probability", (params.batch, 1))
    return b.build("DLRM, seeded weights")


def _embedding_bag(b: GraphBuilder, column: str, table: int, params: DlrmParams) -> str:
    with b.scope(f"table{table}"):
        indices = b.op("Squeeze", column, b.ints(1), name="indices")
        std = float(np.sqrt(1.0 / (params.hot * params.width)))
        rows = embedding(b, indices, "rows", (params.rows, params.width), std)
        return b.op("ReduceSum", rows, b.ints(1), keepdims=0, name="bag")


def _interact(b: GraphBuilder, vectors: list[str]) -> str:
    """Dot products of all pairs of vectors (batch, width), giving (batch, pairs)."""
    with b.scope("interact"):
        rows = [b.op("Unsqueeze", vector, b.ints(1)) for vector in vectors]
        stacked = b.op("Concat", *rows, axis=1, name="stack")
        products = b.op("MatMul", stacked, b.op("Transpose", stacked, perm=[0, 2, 1]))
        flat = b.op("Flatten", products, axis=1)
        i, j = np.tril_indices(len(vectors), -1)
        lower = b.constant(i * len(vectors) + j, np.int64)
        return b.op("Gather", flat, lower, axis=1, name="lower_triangle")


def dlrm_inputs(params: DlrmParams, seed: int) -> dict[str, Array]:
    """Make a batch of log-normal dense features and uniform look-ups."""
    rng = np.random.default_rng(seed)
    dense = np.log1p(rng.lognormal(size=(params.batch, DENSE_FEATURES)))
    shape = (params.batch, params.tables, params.hot)
    return {"dense": dense.astype(np.float32), "sparse": rng.integers(0, params.rows, shape)}


register(
    "dlrm",
    family="recommender",
    description="DLRM, 26 tables, 8 look-ups each, batch 128: 126 operators, 27 wide",
    params=DlrmParams,
    build=build_dlrm,
    example_inputs=dlrm_inputs,
)
