"""A multi-layer perceptron, as recommenders stack them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from surplus.models.builder import GraphBuilder
from surplus.models.layers import gemm


def perceptron(b: GraphBuilder, x: str, widths: Sequence[int]) -> str:
    """Add fully connected layers fc1, fc2, ..., each with a ReLU.

    Parameters
    ----------
    b : GraphBuilder
        Where to; the open scope prefixes the layers' names.
    x : str
        Input of (rows, widths[0]).
    widths : sequence of int
        Features of the input and of each layer.

    Returns
    -------
    str
        Output of (rows, widths[-1]).
    """
    for i, features in enumerate(pairwise(widths)):
        x = b.op("Relu", gemm(b, x, f"fc{i + 1}", features))
    return x
