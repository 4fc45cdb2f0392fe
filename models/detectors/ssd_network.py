"""The network of SSD-ResNet34: backbone, extra maps, heads, default boxes."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.anchors import ssd_anchors, ssd_shapes_per_cell
from surplus.models.detectors.calibration import Calibration
from surplus.models.detectors.ssd_heads import FeatureMap, decode_boxes, ssd_heads
from surplus.models.layers import Conv, conv_relu
from surplus.models.residual import Residual, residual_stages

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
    levels = [
        FeatureMap(value, _MAP_CHANNELS[level], ssd_shapes_per_cell(level))
        for level, value in enumerate(maps)
    ]
    with b.scope("head"):
        return ssd_heads(b, levels, 3, classes, calibration)


def ssd_boxes(b: GraphBuilder, deltas: str, image_size: int) -> str:
    """Add the decoding of deltas (1, boxes, 4) to boxes as fractions of the image."""
    return decode_boxes(b, deltas, ssd_anchors(map_sizes(image_size)))


def _layout(image_size: int) -> _Layout:
    return _LAYOUT_300 if image_size < 600 else _LAYOUT_1200


def _backbone(b: GraphBuilder, x: str, third_stride: int) -> str:
    """Add ResNet-34 without its last stage [He et al. 2016, table 1]."""
    layout = Residual((3, 4, 6), bottleneck=False, strides=(1, 2, third_stride))
    return residual_stages(b, x, layout)[-1]


def _extra_maps(b: GraphBuilder, x: str, layout: _Layout) -> list[str]:
    maps = [x]
    for i, (stride, pad) in enumerate(layout.extras):
        hidden = _EXTRA_HIDDEN[i]
        with b.scope(f"map{i + 2}"):
            x = conv_relu(b, maps[-1], "conv1", Conv(_MAP_CHANNELS[i], hidden))
            spec = Conv(hidden, _MAP_CHANNELS[i + 1], 3, stride, pad)
            maps.append(conv_relu(b, x, "conv2", spec))
    return maps
