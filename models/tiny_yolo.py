"""Tiny YOLOv2 for 20 classes [Redmon and Farhadi 2017], batch norms folded.

The small network of the authors' Darknet (``tiny-yolo-voc.cfg``), with the raw grid as its
output, as the public model zoo has it: in each cell five boxes of x, y, width, height,
objectness and a score per class, not yet decoded.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.activations import conv_activation, leaky_relu
from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import image_input, street_input
from surplus.models.layers import ZERO_MEAN, Conv, conv, max_pool
from surplus.models.registry import register

# Channels of the six pooled layers and of the two behind them, over those of the first.
_POOLED_WIDTHS = (1, 2, 4, 8, 16, 32)
_LAST_WIDTH = 64
_STRIDE = 32
_BOXES_PER_CELL = 5
_BOX_VALUES = 5


@dataclass(frozen=True)
class TinyYoloParams:
    """Parameters of Tiny YOLOv2.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, a multiple of 32.
    classes : int
        Classes of objects.
    width : int
        Channels of the first layer, 16 in the original; the others in proportion.
    seed : int
        Seed of the weights.
    """

    image_size: int = 416
    classes: int = 20
    width: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.image_size < _STRIDE or self.image_size % _STRIDE:
            raise ValueError(f"image_size must be a multiple of {_STRIDE}, got {self.image_size}")
        if self.classes < 1 or self.width < 1:
            raise ValueError(f"classes and width must be at least 1, got {self}")


def build_tiny_yolov2(params: TinyYoloParams) -> onnx.ModelProto:
    """Build Tiny YOLOv2: image (batch, 3, size, size), normalised RGB, to the grid."""
    b = GraphBuilder("tiny_yolov2", params.seed)
    x, channels = image_input(b, params), 3
    for number, factor in enumerate(_POOLED_WIDTHS, start=1):
        width = factor * params.width
        x = conv_activation(b, x, f"conv{number}", Conv(channels, width, 3), leaky_relu)
        x = max_pool(b, x, 2, 2) if number < len(_POOLED_WIDTHS) else _pool_in_place(b, x)
        channels = width
    last = _LAST_WIDTH * params.width
    x = conv_activation(b, x, "conv7", Conv(channels, last, 3), leaky_relu)
    x = conv_activation(b, x, "conv8", Conv(last, last, 3), leaky_relu)
    depth = _BOXES_PER_CELL * (_BOX_VALUES + params.classes)
    grid = conv(b, x, "conv9", Conv(last, depth, init=ZERO_MEAN))
    cells = params.image_size // _STRIDE
    b.output(grid, "grid", ("batch", depth, cells, cells))
    return b.build("Tiny YOLOv2, seeded weights, batch norms folded")


def _pool_in_place(b: GraphBuilder, x: str) -> str:
    """Pool 2 x 2 cells at stride 1, padded below and to the right, so that the size stays."""
    return b.op(
        "MaxPool", x, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1], name="pool_in_place"
    )


register(
    "tiny_yolov2",
    family="detector",
    description="Tiny YOLOv2, 416 x 416: a chain of 23 operators, raw grid of boxes",
    params=TinyYoloParams,
    build=build_tiny_yolov2,
    example_inputs=street_input,
)
