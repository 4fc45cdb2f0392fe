"""Inception v3 [Szegedy et al. 2016], batch norms folded: four branches in every block.

Channel numbers are those of the widely used implementation in torchvision, which the paper's
figures 5 to 7 and table 1 leave open. The auxiliary classifier, used in training only, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import check_sizes, finish, image_input, street_input
from surplus.models.layers import Conv, classifier, conv_relu, max_pool
from surplus.models.registry import register

_Layer = tuple[int, int | tuple[int, int]]
"""Output channels and kernel of a convolution of stride 1 that keeps the size."""

_SMALLEST_IMAGE = 75


@dataclass(frozen=True)
class InceptionParams:
    """Parameters of Inception v3.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 75.
    classes : int
        Number of logits.
    seed : int
        Seed of the weights.
    """

    image_size: int = 299
    classes: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self, _SMALLEST_IMAGE)


def build_inception_v3(params: InceptionParams) -> onnx.ModelProto:
    """Build Inception v3: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("inception_v3", params.seed)
    x = _stem(b, image_input(b, params))
    for i, (channels, pooled) in enumerate(((192, 32), (256, 64), (288, 64))):
        with b.scope(f"mixed5{'bcd'[i]}"):
            x = _block_35(b, x, channels, pooled)
    with b.scope("mixed6a"):
        x = _reduction_17(b, x)
    for i, hidden in enumerate((128, 160, 160, 192)):
        with b.scope(f"mixed6{'bcde'[i]}"):
            x = _block_17(b, x, hidden)
    with b.scope("mixed7a"):
        x = _reduction_8(b, x)
    for i, channels in enumerate((1280, 2048)):
        with b.scope(f"mixed7{'bc'[i]}"):
            x = _block_8(b, x, channels)
    logits = classifier(b, x, (2048, params.classes))
    return finish(b, logits, params, "Inception v3, seeded weights, batch norms folded")


def _stem(b: GraphBuilder, x: str) -> str:
    x = conv_relu(b, x, "conv1a", Conv(3, 32, 3, 2, pad=0))
    x = conv_relu(b, x, "conv2a", Conv(32, 32, 3, pad=0))
    x = max_pool(b, conv_relu(b, x, "conv2b", Conv(32, 64, 3)), 3, 2)
    x = conv_relu(b, x, "conv3b", Conv(64, 80))
    return max_pool(b, conv_relu(b, x, "conv4a", Conv(80, 192, 3, pad=0)), 3, 2)


def _block_35(b: GraphBuilder, x: str, channels: int, pooled: int) -> str:
    """Figure 5: 35 x 35 cells."""
    return _concat(
        b,
        _tower(b, x, "1x1", channels, (64, 1)),
        _tower(b, x, "5x5", channels, (48, 1), (64, 5)),
        _tower(b, x, "3x3", channels, (64, 1), (96, 3), (96, 3)),
        _tower(b, _average(b, x), "pooled", channels, (pooled, 1)),
    )


def _reduction_17(b: GraphBuilder, x: str) -> str:
    """Figure 10: from 35 x 35 to 17 x 17 cells."""
    deep = _tower(b, x, "deep", 288, (64, 1), (96, 3))
    return _concat(
        b,
        conv_relu(b, x, "3x3", Conv(288, 384, 3, 2, pad=0)),
        conv_relu(b, deep, "deep.reduce", Conv(96, 96, 3, 2, pad=0)),
        max_pool(b, x, 3, 2),
    )


def _block_17(b: GraphBuilder, x: str, hidden: int) -> str:
    """Figure 6 with n = 7: 17 x 17 cells."""
    row, column = (1, 7), (7, 1)
    double = ((hidden, 1), (hidden, column), (hidden, row), (hidden, column), (192, row))
    return _concat(
        b,
        _tower(b, x, "1x1", 768, (192, 1)),
        _tower(b, x, "7x7", 768, (hidden, 1), (hidden, row), (192, column)),
        _tower(b, x, "double7x7", 768, *double),
        _tower(b, _average(b, x), "pooled", 768, (192, 1)),
    )


def _reduction_8(b: GraphBuilder, x: str) -> str:
    """From 17 x 17 to 8 x 8 cells."""
    narrow = _tower(b, x, "3x3", 768, (192, 1))
    deep = _tower(b, x, "7x7", 768, (192, 1), (192, (1, 7)), (192, (7, 1)))
    return _concat(
        b,
        conv_relu(b, narrow, "3x3.reduce", Conv(192, 320, 3, 2, pad=0)),
        conv_relu(b, deep, "7x7.reduce", Conv(192, 192, 3, 2, pad=0)),
        max_pool(b, x, 3, 2),
    )


def _block_8(b: GraphBuilder, x: str, channels: int) -> str:
    """Figure 7: 8 x 8 cells, whose towers fork again."""
    narrow = _tower(b, x, "3x3", channels, (384, 1))
    deep = _tower(b, x, "double3x3", channels, (448, 1), (384, 3))
    return _concat(
        b,
        _tower(b, x, "1x1", channels, (320, 1)),
        _fork(b, narrow, "3x3.fork"),
        _fork(b, deep, "double3x3.fork"),
        _tower(b, _average(b, x), "pooled", channels, (192, 1)),
    )


def _fork(b: GraphBuilder, x: str, name: str) -> str:
    row = _tower(b, x, f"{name}.row", 384, (384, (1, 3)))
    return _concat(b, row, _tower(b, x, f"{name}.column", 384, (384, (3, 1))))


def _tower(b: GraphBuilder, x: str, name: str, channels: int, *layers: _Layer) -> str:
    for i, (width, kernel) in enumerate(layers):
        x = conv_relu(b, x, f"{name}.{i}", Conv(channels, width, kernel))
        channels = width
    return x


def _average(b: GraphBuilder, x: str) -> str:
    return b.op(
        "AveragePool",
        x,
        name="average",
        kernel_shape=[3, 3],
        strides=[1, 1],
        pads=[1, 1, 1, 1],
        count_include_pad=1,
    )


def _concat(b: GraphBuilder, *parts: str) -> str:
    return b.op("Concat", *parts, axis=1, name="concat")


register(
    "inception_v3",
    family="classifier",
    description="Inception v3, 299 x 299: 219 operators, blocks of four branches",
    params=InceptionParams,
    build=build_inception_v3,
    example_inputs=street_input,
)
