"""Layers in numpy on a model's own weights: references that share no code with the builders."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

Array = npt.NDArray[Any]
Weights = Mapping[str, Array]

_SMALLEST = 1e-4


def disturbed_weights(model: onnx.ModelProto, seed: int = 0) -> Weights:
    """Initializers by name, floats in double precision.

    Where the builder left zeros or ones (biases, normalisations), random values take their place
    in the model itself: else a layer that forgets its bias would pass.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.name.endswith((".bias", "norm.scale", "norm.shift", "/scale", "/shift")):
            array = (array + rng.normal(0.0, 0.3, array.shape)).astype(np.float32)
            tensor.raw_data = array.tobytes()
        found[tensor.name] = array.astype(np.float64) if array.dtype == np.float32 else array
    return found


def weight_count(model: onnx.ModelProto) -> int:
    """Trained numbers: all initializers but constants."""
    return sum(
        prod(tensor.dims)
        for tensor in model.graph.initializer
        if not tensor.name.startswith("constant/")
    )


def linear(x: Array, w: Weights, name: str) -> Array:
    """Fully connected, weight stored (outputs, inputs)."""
    return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])


def perceptron(x: Array, w: Weights, scope: str, layers: int) -> Array:
    """`layers` fully connected layers, each rectified."""
    for layer in range(1, layers + 1):
        x = np.maximum(linear(x, w, f"{scope}/fc{layer}"), 0.0)
    return x


def sigmoid(x: Array) -> Array:
    """Logistic function."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def softmax(x: Array) -> Array:
    """Over the last axis."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def normalise(x: Array, scale: Array, shift: Array, epsilon: float) -> Array:
    """Layer normalisation over the last axis."""
    variance = x.var(axis=-1, keepdims=True)
    standard = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + epsilon)
    return np.asarray(standard * scale + shift)


def gelu(x: Array) -> Array:
    """With the error function, not its approximation by tanh."""
    return np.asarray(x * 0.5 * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0))))


def assert_close(actual: Array, expected: Array) -> None:
    """Single precision against double; the expected values must tell one wiring from another."""
    assert expected.std() > _SMALLEST
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
