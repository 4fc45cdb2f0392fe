"""Full-size models without their weights: what they count and cost, at no cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
import pytest

from surplus import models
from surplus.models.builder import Array, GraphBuilder


@dataclass(frozen=True)
class Weightless:
    """A model whose weights are inputs, declared but not drawn, and its inferred shapes."""

    graph: onnx.GraphProto
    shapes: dict[str, tuple[int, ...]]
    weights: frozenset[str]

    def parameters(self) -> int:
        """Count the weights that are trained: all but a norm's running statistics."""
        kept = (w for w in self.weights if not w.endswith((".mean", ".variance")))
        return sum(math.prod(self.shapes[w]) for w in kept)

    def convolution_biases(self, without: tuple[str, ...] = ()) -> int:
        """Count the biases of the convolutions whose names contain none of `without`."""
        return sum(
            self.shapes[node.input[1]][0]
            for node in self.graph.node
            if len(node.input) == 3 and node.op_type == "Conv"
            if not any(part in node.name for part in without)
        )

    def multiplications(self) -> int:
        """Count multiply-accumulates of convolutions and fully connected layers, for one image."""
        return sum(
            math.prod(self.shapes[node.output[0]]) * math.prod(self.shapes[node.input[1]][1:])
            for node in self.graph.node
            if node.op_type in ("Conv", "Gemm")
        )


def weightless(name: str, monkeypatch: pytest.MonkeyPatch) -> Weightless:
    """Build a model of default size with inputs in place of weights."""
    weights: set[str] = set()
    store = GraphBuilder.initializer

    def declare(b: GraphBuilder, path: str, array: Array) -> str:
        if path.startswith("constant/"):
            return store(b, path, array)
        assert path not in weights
        weights.add(path)
        return b.input(path, array.shape)

    with monkeypatch.context() as patch:
        patch.setattr(GraphBuilder, "initializer", declare)
        patch.setattr("surplus.models.layers.he_normal", _undrawn)
        model = models.build(name)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    values = [*inferred.input, *inferred.value_info, *inferred.output]
    return Weightless(model.graph, {v.name: _shape(v) for v in values}, frozenset(weights))


def _undrawn(rng: np.random.Generator, shape: tuple[int, ...], init: object = None) -> Array:
    """Zeros of that shape which take no memory."""
    return np.broadcast_to(np.float32(0), shape)


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    # One image: the dynamic batch counts as 1.
    return tuple(dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim)
