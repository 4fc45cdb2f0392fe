"""ShuffleNetV2 x1.0 [Ma et al. 2018, table 5], batch norms folded.

A unit leaves half of the channels as they are and filters the other half; then both halves are
interleaved [figure 3c, d], so that the next unit mixes them.
"""

from __future__ import annotations

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.layers import Conv, Init, classifier, conv, conv_relu, max_pool
from surplus.models.registry import register

_STEM_CHANNELS = 24
# Channels and units of the three stages, for the width 1.
_STAGES = ((116, 4), (232, 8), (464, 4))
_HEAD_CHANNELS = 1024

# Depthwise layers are linear, so they take half of He's variance.
_DEPTHWISE = Init(gain=0.7)


def build_shufflenet_v2(params: ClassifierParams) -> onnx.ModelProto:
    """Build ShuffleNetV2 x1.0: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("shufflenet_v2", params.seed)
    x = conv_relu(b, image_input(b, params), "stem", Conv(3, _STEM_CHANNELS, 3, 2))
    x, channels, size = max_pool(b, x, 3, 2, 1), _STEM_CHANNELS, _halved(_halved(params.image_size))
    for number, (width, units) in enumerate(_STAGES, start=2):
        size = _halved(size)
        for unit in range(units):
            with b.scope(f"stage{number}.{unit}"):
                parts = _reducing(b, x, channels, width) if unit == 0 else _keeping(b, x, width)
                x = _interleave(b, parts, width, size)
        channels = width
    x = conv_relu(b, x, "head", Conv(channels, _HEAD_CHANNELS))
    logits = classifier(b, x, (_HEAD_CHANNELS, params.classes))
    return finish(b, logits, params, "ShuffleNetV2 x1.0, seeded weights, batch norms folded")


def _halved(size: int) -> int:
    return (size - 1) // 2 + 1


def _keeping(b: GraphBuilder, x: str, width: int) -> tuple[str, str]:
    """Figure 3c: split the channels and filter one half."""
    kept, other = b.op_multi("Split", x, outputs=2, axis=1, name="halves")
    return kept, _filter(b, other, width // 2, width // 2, stride=1)


def _reducing(b: GraphBuilder, x: str, channels: int, width: int) -> tuple[str, str]:
    """Figure 3d: both branches see all channels and halve the map."""
    spec = Conv(channels, channels, 3, 2, groups=channels, init=_DEPTHWISE)
    y = conv(b, x, "shortcut.depthwise", spec)
    y = conv_relu(b, y, "shortcut", Conv(channels, width // 2))
    return y, _filter(b, x, channels, width // 2, stride=2)


def _filter(b: GraphBuilder, x: str, channels: int, width: int, stride: int) -> str:
    x = conv_relu(b, x, "conv1", Conv(channels, width))
    spec = Conv(width, width, 3, stride, groups=width, init=_DEPTHWISE)
    x = conv(b, x, "depthwise", spec)
    return conv_relu(b, x, "conv2", Conv(width, width))


def _interleave(b: GraphBuilder, parts: tuple[str, str], width: int, size: int) -> str:
    """Shuffle the channels of two halves; a 0 in a shape keeps the batch."""
    joined = b.op("Concat", *parts, axis=1, name="concat")
    pairs = b.op("Reshape", joined, b.ints(0, 2, width // 2, size, size), name="shuffle.pairs")
    mixed = b.op("Transpose", pairs, perm=[0, 2, 1, 3, 4], name="shuffle")
    return b.op("Reshape", mixed, b.ints(0, width, size, size), name="shuffle.joined")


register(
    "shufflenet_v2",
    family="classifier",
    description="ShuffleNetV2 x1.0, 224 x 224: light operators, two branches in every unit",
    params=ClassifierParams,
    build=build_shufflenet_v2,
    example_inputs=street_input,
)
