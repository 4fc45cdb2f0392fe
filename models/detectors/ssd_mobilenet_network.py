"""The network of SSD-MobileNetV1: backbone, extra maps, heads, default boxes.

The backbone is Howard et al. 2017, table 1, without its classifier. Maps, extra layers, 1 x 1
heads and default boxes are those of the TensorFlow detection models (19, 10, 5, 3, 2 and 1 cells,
1,917 boxes at 300 x 300), padded alike on all sides where TensorFlow pads below and to the right.
"""

from __future__ import annotations

import numpy as np

from surplus.models.activations import conv_activation, relu6
from surplus.models.builder import Array, GraphBuilder
from surplus.models.detectors.anchors import default_boxes
from surplus.models.detectors.calibration import Calibration
from surplus.models.detectors.ssd_heads import FeatureMap, decode_boxes, ssd_heads
from surplus.models.layers import Conv

# Channels and stride of the separable convolutions; maps are read behind the 11th and the last.
_STEM_CHANNELS = 32
_FINE = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5)
_COARSE = ((1024, 2), (1024, 1))
_EXTRA_CHANNELS = (512, 256, 256, 128)

_HALVINGS_TO_FIRST_MAP = 4
_MAPS = 6

# Scales of the default boxes grow evenly from the first map to the last [Liu et al. 2016, eq. 4].
_SCALES = (*np.linspace(0.2, 0.95, _MAPS), 1.0)
_ASPECTS = (1.0, 2.0, 1.0 / 2.0, 3.0, 1.0 / 3.0)
# The finest map has three shapes only: (scale, aspect).
_FIRST_SHAPES = ((0.1, 1.0), (0.2, 2.0), (0.2, 0.5))


def map_sizes(image_size: int) -> list[int]:
    """Return the height and width of the six maps."""
    sizes = [image_size]
    for _ in range(_HALVINGS_TO_FIRST_MAP + _MAPS - 1):
        sizes.append((sizes[-1] - 1) // 2 + 1)
    return sizes[-_MAPS:]


def ssd_mobilenet_anchors(sizes: list[int]) -> Array:
    """Build the default boxes on maps of `sizes` cells; see `anchors.default_boxes`."""
    return default_boxes(sizes, [_shapes(level) for level in range(_MAPS)])


def ssd_mobilenet(
    b: GraphBuilder, image: str, image_size: int, classes: int, calibration: Calibration
) -> tuple[str, str]:
    """Add the network on an image (1, 3, size, size).

    Returns
    -------
    tuple of str
        Logits (1, classes + 1, boxes), background first, and boxes (1, boxes, 4) as fractions of
        the image.
    """
    with b.scope("backbone"):
        maps = _backbone(b, image)
    with b.scope("extra"):
        maps += _extra_maps(b, maps[-1])
    levels = [
        FeatureMap(value, channels, len(_shapes(level)))
        for level, (value, channels) in enumerate(maps)
    ]
    with b.scope("head"):
        logits, deltas = ssd_heads(b, levels, 1, classes, calibration)
    with b.scope("decode"):
        return logits, decode_boxes(b, deltas, ssd_mobilenet_anchors(map_sizes(image_size)))


def _backbone(b: GraphBuilder, x: str) -> list[tuple[str, int]]:
    x = conv_activation(b, x, "stem", Conv(3, _STEM_CHANNELS, 3, 2), relu6)
    channels, maps = _STEM_CHANNELS, []
    for stage, rows in enumerate((_FINE, _COARSE)):
        for number, (width, stride) in enumerate(rows):
            with b.scope(f"stage{stage + 1}.{number}"):
                x = _separable(b, x, channels, width, stride)
            channels = width
        maps.append((x, channels))
    return maps


def _separable(b: GraphBuilder, x: str, channels: int, width: int, stride: int) -> str:
    """Filter each channel, then mix them [Howard et al. 2017, figure 3]."""
    depthwise = Conv(channels, channels, 3, stride, groups=channels)
    x = conv_activation(b, x, "depthwise", depthwise, relu6)
    return conv_activation(b, x, "pointwise", Conv(channels, width), relu6)


def _extra_maps(b: GraphBuilder, last: tuple[str, int]) -> list[tuple[str, int]]:
    maps, (x, channels) = [], last
    for i, width in enumerate(_EXTRA_CHANNELS):
        with b.scope(f"map{i + 3}"):
            x = conv_activation(b, x, "conv1", Conv(channels, width // 2), relu6)
            x = conv_activation(b, x, "conv2", Conv(width // 2, width, 3, 2), relu6)
        channels = width
        maps.append((x, channels))
    return maps


def _shapes(level: int) -> Array:
    """Widths and heights (shapes, 2) of the default boxes of map `level`."""
    shapes = [(_SCALES[level], aspect) for aspect in _ASPECTS]
    shapes.append((np.sqrt(_SCALES[level] * _SCALES[level + 1]), 1.0))
    chosen = np.asarray(_FIRST_SHAPES if level == 0 else shapes)
    scale, root = chosen[:, 0], np.sqrt(chosen[:, 1])
    return np.stack([scale * root, scale / root], axis=-1)
