"""SqueezeNet 1.1 [Iandola et al. 2016, table 1; version 1.1 is the authors' later release].

A fire module squeezes by 1 x 1 filters and expands by 1 x 1 and 3 x 3 ones side by side. Version
1.1 has the same accuracy as 1.0 with 2.4 times fewer operations.
"""

from __future__ import annotations

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.layers import ZERO_MEAN, Conv, conv_relu, max_pool
from surplus.models.registry import register

# Squeezed and expanded channels of the fire modules between two poolings.
_FIRES = (
    ((16, 64), (16, 64)),
    ((32, 128), (32, 128)),
    ((48, 192), (48, 192), (64, 256), (64, 256)),
)


def build_squeezenet(params: ClassifierParams) -> onnx.ModelProto:
    """Build SqueezeNet 1.1: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("squeezenet", params.seed)
    x = conv_relu(b, image_input(b, params), "conv1", Conv(3, 64, 3, 2, pad=0))
    channels, number = 64, 2
    for fires in _FIRES:
        x = max_pool(b, x, 3, 2, ceil=True)
        for squeezed, expanded in fires:
            with b.scope(f"fire{number}"):
                x = _fire(b, x, channels, squeezed, expanded)
            channels, number = 2 * expanded, number + 1
    x = conv_relu(b, x, "conv10", Conv(channels, params.classes, init=ZERO_MEAN))
    pooled = b.op("GlobalAveragePool", x, name="pool")
    logits = b.op("Flatten", pooled, axis=1, name="flatten")
    return finish(b, logits, params, "SqueezeNet 1.1, seeded weights")


def _fire(b: GraphBuilder, x: str, channels: int, squeezed: int, expanded: int) -> str:
    x = conv_relu(b, x, "squeeze", Conv(channels, squeezed))
    narrow = conv_relu(b, x, "expand1x1", Conv(squeezed, expanded))
    wide = conv_relu(b, x, "expand3x3", Conv(squeezed, expanded, 3))
    return b.op("Concat", narrow, wide, axis=1, name="concat")


register(
    "squeezenet",
    family="classifier",
    description="SqueezeNet 1.1, 224 x 224: eight modules of two branches",
    params=ClassifierParams,
    build=build_squeezenet,
    example_inputs=street_input,
)
