"""Class and box heads of a single-shot detector on maps of many scales [Liu et al. 2016, 2.1]."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.models.builder import Array, GraphBuilder
from surplus.models.detectors.boxes import decode
from surplus.models.detectors.calibration import Calibration
from surplus.models.detectors.rcnn_heads import background_bias
from surplus.models.layers import ZERO_MEAN, Conv, Init, conv

_VARIANCES = [0.1, 0.1, 0.2, 0.2]


@dataclass(frozen=True)
class FeatureMap:
    """A map (1, channels, size, size) and how many default boxes each of its cells has."""

    value: str
    channels: int
    shapes_per_cell: int


def ssd_heads(
    b: GraphBuilder, maps: list[FeatureMap], kernel: int, classes: int, calibration: Calibration
) -> tuple[str, str]:
    """Add a convolution for the classes and one for the boxes on every map.

    Parameters
    ----------
    kernel : int
        Height and width of the filters.
    classes : int
        Classes besides the background.

    Returns
    -------
    tuple of str
        Logits (1, classes + 1, boxes), background first, and deltas (1, boxes, 4).
    """
    bias = background_bias(classes, calibration)
    class_init = Init(calibration.logit_gain, zero_mean=True)
    logits, deltas = [], []
    for i, level in enumerate(maps, start=1):
        shapes = level.shapes_per_cell
        # Channels are (value, shape) as in MLPerf, so the bias of a class repeats per shape.
        spec = Conv(level.channels, shapes * (classes + 1), kernel, init=class_init)
        y = conv(b, level.value, f"class{i}", spec, bias.repeat(shapes))
        logits.append(b.op("Reshape", y, b.ints(1, classes + 1, -1)))
        spec = Conv(level.channels, shapes * 4, kernel, init=ZERO_MEAN)
        y = conv(b, level.value, f"delta{i}", spec)
        deltas.append(b.op("Reshape", y, b.ints(1, 4, -1)))
    joined = b.op("Concat", *deltas, axis=2, name="deltas")
    return (
        b.op("Concat", *logits, axis=2, name="logits"),
        b.op("Transpose", joined, perm=[0, 2, 1]),
    )


def decode_boxes(b: GraphBuilder, deltas: str, default_boxes: Array) -> str:
    """Add the decoding of deltas (1, boxes, 4) to boxes as fractions of the image."""
    anchors = b.constant(default_boxes[None])
    return decode(b, anchors, b.op("Mul", deltas, b.constant(_VARIANCES)), 1.0)
