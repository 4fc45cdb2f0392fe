"""Operators of one kind that do next to nothing, each with constants of its own.

No two of them compute the same value, so that common subexpression elimination leaves all.
"""

from __future__ import annotations

import numpy as np

from surplus.models.builder import GraphBuilder
from surplus.models.layers import Init, he_normal

KINDS = ("elementwise", "matmul")

# All invertible: a deep chain of squashing functions would forget its input, and hide errors.
ELEMENTWISE = ("Add", "Mul", "Neg", "Sub", "Div", "Neg")


class TinyOperators:
    """Adds operators on tensors of (1, `size`).

    Parameters
    ----------
    b : GraphBuilder
        Where to.
    kind : str
        'elementwise' or 'matmul' (by a weight of size x size).
    size : int
        Elements of every tensor.
    seed : int
        Seed of the constants.

    Raises
    ------
    ValueError
        If the kind is unknown.
    """

    def __init__(self, b: GraphBuilder, kind: str, size: int, seed: int) -> None:
        check_kind(kind)
        self._b = b
        self._size = size
        self._kind = kind
        self._rng = np.random.default_rng([seed, 1])

    def add(self, x: str, position: int) -> str:
        """Add the operator that stands at `position` of a chain."""
        if self._kind == "matmul":
            # Half of He's variance: no rectifier follows.
            matrix = he_normal(self._rng, (self._size, self._size), Init(gain=0.7))
            return self._b.op("MatMul", x, self._b.initializer("weight", matrix))
        op_type = ELEMENTWISE[position % len(ELEMENTWISE)]
        if op_type == "Neg":
            return self._b.op(op_type, x)
        return self._b.op(op_type, x, random_scalar(self._b, self._rng))


def random_scalar(b: GraphBuilder, rng: np.random.Generator) -> str:
    """Store a 0-d constant within 0.5..1.5."""
    return b.initializer("scalar", np.asarray(rng.uniform(0.5, 1.5), np.float32))


def check_kind(kind: str) -> None:
    """Raise ValueError for an unknown kind."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
