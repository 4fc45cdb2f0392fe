"""Activations after a convolution: each adds its nodes on `x`, named after the convolution."""

from __future__ import annotations

from collections.abc import Callable

from surplus.models.builder import GraphBuilder
from surplus.models.layers import Conv, conv

Activation = Callable[[GraphBuilder, str, str], str]
"""Takes the builder, the value and the convolution's name; returns the activated value."""


def relu(b: GraphBuilder, x: str, name: str) -> str:
    """Add max(x, 0)."""
    return b.op("Relu", x, name=f"{name}.relu")


def relu6(b: GraphBuilder, x: str, name: str) -> str:
    """Add min(max(x, 0), 6) [Sandler et al. 2018, section 3.3]."""
    return b.op("Clip", x, b.constant(0.0), b.constant(6.0), name=f"{name}.relu6")


def swish(b: GraphBuilder, x: str, name: str) -> str:
    """Add x * sigmoid(x) [Ramachandran et al. 2017, section 4], two nodes as exporters write it."""
    return b.op("Mul", x, b.op("Sigmoid", x, name=f"{name}.sigmoid"), name=f"{name}.swish")


def leaky_relu(b: GraphBuilder, x: str, name: str) -> str:
    """Add max(x, 0.1 x), Darknet's slope."""
    return b.op("LeakyRelu", x, name=f"{name}.leaky", alpha=0.1)


def conv_activation(b: GraphBuilder, x: str, name: str, spec: Conv, activation: Activation) -> str:
    """Add a convolution and an activation."""
    return activation(b, conv(b, x, name, spec), name)
