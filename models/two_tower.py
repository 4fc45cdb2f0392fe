"""A two-tower retrieval model: users and items embedded apart, compared by a dot product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from surplus.models.builder import Array, GraphBuilder
from surplus.models.layers import Init, gemm
from surplus.models.perceptron import perceptron
from surplus.models.registry import register

_LINEAR = Init(gain=0.7)
_TEMPERATURE = 0.05
_EPSILON = 1e-12


@dataclass(frozen=True)
class TwoTowerParams:
    """Parameters of a two-tower model.

    Parameters
    ----------
    user_fields, item_fields : int
        Categorical features of each side, a table each; the first of the item is its identity.
    history : int
        Items that the user saw, whose embeddings are averaged.
    rows, width : int
        Categories of each feature, and length of an embedding.
    hidden : int
        Width of a tower's first layer; the second has half, the output a quarter of it.
    batch : int
        Pairs of user and item per query.
    seed : int
        Seed of the weights.
    """

    user_fields: int = 10
    item_fields: int = 8
    history: int = 50
    rows: int = 10_000
    width: int = 32
    hidden: int = 1024
    batch: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("user_fields", "item_fields", "history", "rows", "width", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.hidden < 4 or self.hidden % 4:
            raise ValueError(f"hidden must be a multiple of 4, got {self.hidden}")


def build_two_tower(params: TwoTowerParams) -> onnx.ModelProto:
    """Build the model: user, history and item ids to one score per pair (batch, 1).

    References
    ----------
    Covington et al. 2016: figure 3 (averaged history beside other features, layers of 1024, 512
    and 256), section 4.1 (features of the same id space share a table). Yi et al. 2019: towers
    on both sides, whose outputs are normalised and whose dot product is divided by a
    temperature. Departure: the last layer of a tower is linear, so that scores of both signs
    occur.
    """
    b = GraphBuilder("two_tower", params.seed)
    user, history, item = (
        b.input(name, (params.batch, columns), TensorProto.INT64)
        for name, columns in (
            ("user", params.user_fields),
            ("history", params.history),
            ("item", params.item_fields),
        )
    )
    item_tables = [_table(b, f"item/field{i}", params) for i in range(params.item_fields)]
    user_tables = [_table(b, f"user/field{i}", params) for i in range(params.user_fields)]
    with b.scope("user"):
        seen = b.op("Gather", item_tables[0], history, axis=0, name="history")
        mean = b.op("ReduceMean", seen, axes=[1], keepdims=0, name="history_mean")
        features = [*_look_up(b, user, user_tables), mean]
        user_vector = _tower(b, features, params)
    with b.scope("item"):
        item_vector = _tower(b, _look_up(b, item, item_tables), params)
    products = b.op("Mul", user_vector, item_vector, name="products")
    cosine = b.op("ReduceSum", products, b.ints(1), keepdims=1, name="cosine")
    b.output(b.op("Div", cosine, b.constant(_TEMPERATURE)), "score", (params.batch, 1))
    return b.build("two towers of embeddings and layers, seeded weights")


def _table(b: GraphBuilder, name: str, params: TwoTowerParams) -> str:
    table = b.weight_rng(name).standard_normal((params.rows, params.width), dtype=np.float32)
    return b.initializer(f"{name}.weight", table)


def _look_up(b: GraphBuilder, ids: str, tables: list[str]) -> list[str]:
    """Look each column of (batch, fields) up in its table, giving vectors (batch, width)."""
    vectors = []
    for field, table in enumerate(tables):
        with b.scope(f"field{field}"):
            column = b.op("Gather", ids, b.index(field), axis=1, name="ids")
            vectors.append(b.op("Gather", table, column, axis=0, name="vector"))
    return vectors


def _tower(b: GraphBuilder, features: list[str], params: TwoTowerParams) -> str:
    """Turn vectors (batch, width) into one of unit length (batch, hidden / 4)."""
    x = b.op("Concat", *features, axis=1, name="features")
    half, quarter = params.hidden // 2, params.hidden // 4
    x = perceptron(b, x, (len(features) * params.width, params.hidden, half))
    x = gemm(b, x, "vector", (half, quarter), _LINEAR)
    length = b.op("ReduceL2", x, axes=[1], keepdims=1, name="length")
    return b.op("Div", x, b.op("Max", length, b.constant(_EPSILON)), name="unit")


def two_tower_inputs(params: TwoTowerParams, seed: int) -> dict[str, Array]:
    """Make pairs of uniform categories."""
    rng = np.random.default_rng(seed)
    columns = {
        "user": params.user_fields,
        "history": params.history,
        "item": params.item_fields,
    }
    return {
        name: rng.integers(0, params.rows, (params.batch, count)) for name, count in columns.items()
    }


register(
    "two_tower",
    family="recommender",
    description="two towers, 10 user and 8 item features, 50 seen items, batch 64",
    params=TwoTowerParams,
    build=build_two_tower,
    example_inputs=two_tower_inputs,
)
