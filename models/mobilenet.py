"""MobileNetV2 [Sandler et al. 2018, table 2], batch norms folded: 100 operators."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import Array, GraphBuilder
from models.images import normalized_input, street
from models.layers import Conv, Init, classifier, conv
from models.registry import register

# Expansion, channels out, blocks, stride of the first block: the rows of table 2.
_ROWS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_HEAD_CHANNELS = 1280

# Projections are linear, so they take half of He's variance.
_PROJECTION = Init(gain=0.7)


@dataclass(frozen=True)
class MobilenetParams:
    """Parameters of MobileNetV2.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Number of logits.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.image_size < 32 or self.classes < 1:
            raise ValueError(f"image_size must be >= 32 and classes >= 1, got {self}")


def build_mobilenet_v2(params: MobilenetParams) -> onnx.ModelProto:
    """Build MobileNetV2: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("mobilenet_v2", params.seed)
    x = b.input("image", ("batch", 3, params.image_size, params.image_size))
    x = _conv_relu6(b, x, "stem", Conv(3, 32, 3, 2))
    channels, number = 32, 0
    for expansion, width, blocks, first_stride in _ROWS:
        for block in range(blocks):
            with b.scope(f"block{number}"):
                stride = first_stride if block == 0 else 1
                x = _inverted_residual(b, x, (channels, width), expansion, stride)
            channels, number = width, number + 1
    x = _conv_relu6(b, x, "head", Conv(channels, _HEAD_CHANNELS))
    logits = classifier(b, x, (_HEAD_CHANNELS, params.classes))
    b.output(logits, "logits", ("batch", params.classes))
    return b.build("MobileNetV2, seeded weights, batch norms folded")


def _inverted_residual(
    b: GraphBuilder, x: str, channels: tuple[int, int], expansion: int, stride: int
) -> str:
    hidden = channels[0] * expansion
    y = x
    if expansion > 1:
        y = _conv_relu6(b, y, "expand", Conv(channels[0], hidden))
    y = _conv_relu6(b, y, "depthwise", Conv(hidden, hidden, 3, stride, groups=hidden))
    y = conv(b, y, "project", Conv(hidden, channels[1], init=_PROJECTION))
    if stride == 1 and channels[0] == channels[1]:
        y = b.op("Add", x, y, name="add")
    return y


def _conv_relu6(b: GraphBuilder, x: str, name: str, spec: Conv) -> str:
    bounds = b.constant(0.0), b.constant(6.0)
    return b.op("Clip", conv(b, x, name, spec), *bounds, name=f"{name}.relu6")


def mobilenet_inputs(params: MobilenetParams, seed: int) -> dict[str, Array]:
    """Make the street scene of that seed."""
    return {"image": normalized_input(street(params.image_size, params.image_size, seed))}


register(
    "mobilenet_v2",
    family="classifier",
    description="MobileNetV2, 224 x 224: 100 light operators, nearly a chain",
    params=MobilenetParams,
    build=build_mobilenet_v2,
    example_inputs=mobilenet_inputs,
)
