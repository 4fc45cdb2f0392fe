"""The network of SSD-ResNet34: backbone, extra maps, heads, default boxes."""

from __future__ import annotations

from dataclasses import dataclass

from models.builder import GraphBuilder
from models.detectors.anchors import ssd_anchors, ssd_shapes_per_cell
from models.detectors.boxes import decode
from models.detectors.calibration import Calibration
from models.detectors.rcnn_heads import background_bias
from models.layers import ZERO_MEAN, Conv, Init, conv, conv_relu, max_pool
from models.resnet import RESIDUAL

_VARIANCES = [0.1, 0.1, 0.2, 0.2]
_BACKBONE_BLOCKS = ((64, 3), (128, 4), (256, 6))
_MAP_CHANNELS = (256, 512, 512, 256, 256, 256)
_EXTRA_HIDDEN = (256, 256, 128, 128, 128)


@dataclass(frozen=True)
class _Layout:
    """Strides of the backbone's third stage, and (stride, padding) of the extra maps."""

    third_stride: int
    extras: tuple[tuple[int, int], ...]


_LAYOUT_300 = _Layout(1, ((2, 1), (2, 1), (2, 1), (1, 0), (1, 0)))
_LAYOUT_1200 = _Layout(3, ((2, 1), (2, 1), (2, 1), (2, 0), (1, 1)))


def map_sizes(image_size: int) -> list[int]:
    """Return the height and width of the six maps; below 1 if the image is too small."""
    layout = _layout(image_size)
    size = image_size
    for stride in (2, 2, 2, layout.third_stride):
        size = (size - 1) // stride + 1
    sizes = [size]
    for stride, pad in layout.extras:
        sizes.append((sizes[-1] + 2 * pad - 3) // stride + 1)
    return sizes


def ssd_network(
    b: GraphBuilder, image: str, image_size: int, classes: int, calibration: Calibration
) -> tuple[str, str]:
    """Add backbone, extra maps and heads on an image (1, 3, size, size).

    Returns
    -------
    tuple of str
        Logits (1, classes + 1, boxes), background first, and deltas (1, boxes, 4).
    """
    layout = _layout(image_size)
    with b.scope("backbone"):
        x = _backbone(b, image, layout.third_stride)
    with b.scope("extra"):
        maps = _extra_maps(b, x, layout)
    with b.scope("head"):
        return _heads(b, maps, classes, calibration)


def ssd_boxes(b: GraphBuilder, deltas: str, image_size: int) -> str:
    """Add the decoding of deltas (1, boxes, 4) to boxes as fractions of the image."""
    anchors = b.constant(ssd_anchors(map_sizes(image_size))[None])
    return decode(b, anchors, b.op("Mul", deltas, b.constant(_VARIANCES)), 1.0)


def _layout(image_size: int) -> _Layout:
    return _LAYOUT_300 if image_size < 600 else _LAYOUT_1200


def _backbone(b: GraphBuilder, x: str, third_stride: int) -> str:
    """Add ResNet-34 without its last stage [He et al. 2016, table 1]."""
    x = max_pool(b, conv_relu(b, x, "stem", Conv(3, 64, 7, 2)), 3, 2, 1)
    channels = 64
    for stage, (width, blocks) in enumerate(_BACKBONE_BLOCKS):
        for block in range(blocks):
            stride = (1, 2, third_stride)[stage] if block == 0 else 1
            with b.scope(f"stage{stage + 1}.{block}"):
                x = _basic_block(b, x, channels, width, stride)
            channels = width
    return x


def _basic_block(b: GraphBuilder, x: str, channels: int, width: int, stride: int) -> str:
    y = conv_relu(b, x, "conv1", Conv(channels, width, 3, stride))
    y = conv(b, y, "conv2", Conv(width, width, 3, init=RESIDUAL))
    if channels != width:
        x = conv(b, x, "shortcut", Conv(channels, width, stride=stride, init=Init(0.7)))
    return b.op("Relu", b.op("Add", y, x, name="add"), name="relu")


def _extra_maps(b: GraphBuilder, x: str, layout: _Layout) -> list[str]:
    maps = [x]
    for i, (stride, pad) in enumerate(layout.extras):
        hidden = _EXTRA_HIDDEN[i]
        with b.scope(f"map{i + 2}"):
            x = conv_relu(b, maps[-1], "conv1", Conv(_MAP_CHANNELS[i], hidden))
            spec = Conv(hidden, _MAP_CHANNELS[i + 1], 3, stride, pad)
            maps.append(conv_relu(b, x, "conv2", spec))
    return maps


def _heads(
    b: GraphBuilder, maps: list[str], classes: int, calibration: Calibration
) -> tuple[str, str]:
    bias = background_bias(classes, calibration)
    logits, deltas = [], []
    for i, x in enumerate(maps):
        shapes, channels = ssd_shapes_per_cell(i), _MAP_CHANNELS[i]
        class_init = Init(calibration.logit_gain, zero_mean=True)
        # Channels are (value, shape) as in MLPerf, so the bias of a class repeats per shape.
        class_spec = Conv(channels, shapes * (classes + 1), 3, init=class_init)
        y = conv(b, x, f"class{i + 1}", class_spec, bias.repeat(shapes))
        logits.append(b.op("Reshape", y, b.ints(1, classes + 1, -1)))
        delta_spec = Conv(channels, shapes * 4, 3, init=ZERO_MEAN)
        y = conv(b, x, f"delta{i + 1}", delta_spec)
        deltas.append(b.op("Reshape", y, b.ints(1, 4, -1)))
    joined = b.op("Concat", *deltas, axis=2, name="deltas")
    return (
        b.op("Concat", *logits, axis=2, name="logits"),
        b.op("Transpose", joined, perm=[0, 2, 1]),
    )
