"""DenseNet-121 and DenseNet-161 [Huang et al. 2017, table 1 and section 4].

Each layer reads the concatenation of all earlier ones of its block, normalises it, and adds
`growth` channels. Batch norms in front of a convolution cannot be folded and stay operators;
those behind one (the stem's, and the one within each layer) are folded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import check_sizes, finish, image_input, street_input
from surplus.models.layers import Conv, classifier, conv, conv_relu, max_pool
from surplus.models.registry import register

_BLOCKS_121 = (6, 12, 24, 16)
_BLOCKS_161 = (6, 12, 36, 24)

# Hidden channels of a layer over its growth [section 3, bottleneck layers].
_BOTTLENECK = 4


@dataclass(frozen=True)
class DensenetParams:
    """Parameters of DenseNet-121.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Number of logits.
    growth : int
        Channels that each layer adds, an even number; the stem has twice as many.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    growth: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self)
        if self.growth < 2 or self.growth % 2:
            raise ValueError(f"growth must be even and at least 2, got {self.growth}")


@dataclass(frozen=True)
class Densenet161Params:
    """Parameters of DenseNet-161: those of `DensenetParams`, with a growth of 48."""

    image_size: int = 224
    classes: int = 1000
    growth: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        DensenetParams(self.image_size, self.classes, self.growth, self.seed)


def build_densenet121(params: DensenetParams) -> onnx.ModelProto:
    """Build DenseNet-121: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "densenet121", "DenseNet-121", _BLOCKS_121)


def build_densenet161(params: Densenet161Params) -> onnx.ModelProto:
    """Build DenseNet-161: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "densenet161", "DenseNet-161", _BLOCKS_161)


def _build(
    params: DensenetParams | Densenet161Params, name: str, title: str, blocks: tuple[int, ...]
) -> onnx.ModelProto:
    b = GraphBuilder(name, params.seed)
    channels = 2 * params.growth
    x = conv_relu(b, image_input(b, params), "stem", Conv(3, channels, 7, 2))
    x = max_pool(b, x, 3, 2, 1)
    for number, layers in enumerate(blocks, start=1):
        if number > 1:
            with b.scope(f"transition{number - 1}"):
                x = _transition(b, x, channels)
            channels //= 2
        with b.scope(f"block{number}"):
            x = _block(b, x, channels, layers, params.growth)
        channels += layers * params.growth
    logits = classifier(b, _normalized(b, x, "norm", channels), (channels, params.classes))
    return finish(b, logits, params, f"{title}, seeded weights")


def _block(b: GraphBuilder, x: str, channels: int, layers: int, growth: int) -> str:
    parts = [x]
    for layer in range(layers):
        with b.scope(f"layer{layer + 1}"):
            y = _normalized(b, x, "norm", channels)
            y = conv_relu(b, y, "conv1", Conv(channels, _BOTTLENECK * growth))
            spec = Conv(_BOTTLENECK * growth, growth, 3, bias=False)
            parts.append(conv(b, y, "conv2", spec))
        channels += growth
        # Exporters write one flat concatenation per layer: hence the degrees of this graph.
        x = b.op("Concat", *parts, axis=1, name=f"concat{layer + 1}")
    return x


def _transition(b: GraphBuilder, x: str, channels: int) -> str:
    x = _normalized(b, x, "norm", channels)
    x = conv(b, x, "conv", Conv(channels, channels // 2, bias=False))
    return b.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], name="pool")


def _normalized(b: GraphBuilder, x: str, name: str, channels: int) -> str:
    """Add a batch norm and a ReLU; its statistics are drawn near those of unit features."""
    rng = b.weight_rng(name)
    scale, variance = rng.uniform(0.8, 1.2, (2, channels))
    shift, mean = rng.normal(0.0, 0.1, (2, channels))
    values = (("scale", scale), ("shift", shift), ("mean", mean), ("variance", variance))
    stored = [
        b.initializer(f"{b.path(name)}.{kind}", value.astype(np.float32)) for kind, value in values
    ]
    return b.op("Relu", b.op("BatchNormalization", x, *stored, name=name), name=f"{name}.relu")


register(
    "densenet121",
    family="classifier",
    description="DenseNet-121, 224 x 224: every layer reads all earlier ones of its block",
    params=DensenetParams,
    build=build_densenet121,
    example_inputs=street_input,
)
register(
    "densenet161",
    family="classifier",
    description="DenseNet-161, 224 x 224: DenseNet-121's pattern, deeper and wider",
    params=Densenet161Params,
    build=build_densenet161,
    example_inputs=street_input,
)
