"""The region proposal network on a feature pyramid [Ren et al. 2015; Lin et al. 2017, 4.1]."""

from __future__ import annotations

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.anchors import RATIOS, pyramid_anchors
from surplus.models.detectors.boxes import Detections, decode, join, keep_best, suppress
from surplus.models.detectors.pyramid import CHANNELS, Level
from surplus.models.layers import ZERO_MEAN, Conv, Init, apply_conv, conv_weights

_IOU_THRESHOLD = 0.7

_FEATURES = Conv(CHANNELS, CHANNELS, 3, init=ZERO_MEAN)
_OBJECTNESS = Conv(CHANNELS, len(RATIOS), init=ZERO_MEAN)
# Small deltas, so that proposals stay near their anchors as a trained network's do.
_DELTAS = Conv(CHANNELS, 4 * len(RATIOS), init=Init(gain=0.2, zero_mean=True))


def propose_regions(b: GraphBuilder, levels: list[Level], image_size: int, limit: int) -> str:
    """Add the network on all levels, with the same weights, and keep the best boxes.

    Parameters
    ----------
    limit : int
        Boxes kept at most: per level before and after suppression, and in the end.

    Returns
    -------
    str
        Boxes (n, 4) in pixels, n <= `limit`.
    """
    parts = []
    with b.scope("rpn"):
        head = _SharedHead(b)
        for number, level in enumerate(levels):
            with b.scope(f"level{number + 2}"):
                parts.append(_level_proposals(b, head, level, image_size, limit))
        return keep_best(b, join(b, parts), limit).boxes


def _level_proposals(
    b: GraphBuilder, head: _SharedHead, level: Level, image_size: int, limit: int
) -> Detections:
    anchors = pyramid_anchors(level.size, level.stride, level.anchor_side)
    logits, deltas = head.apply(level.value)
    scores = b.op("Sigmoid", _rows(b, logits, -1))
    count = b.ints(min(limit, len(anchors)))
    best, order = b.op_multi("TopK", scores, count, outputs=2, axis=0, name="best")
    boxes = decode(
        b,
        b.op("Gather", b.constant(anchors), order, name="best_anchors"),
        b.op("Gather", _rows(b, deltas, -1, 4), order, name="best_deltas"),
        float(image_size),
    )
    return suppress(b, boxes, best, _IOU_THRESHOLD, limit)


def _rows(b: GraphBuilder, feature_map: str, *shape: int) -> str:
    """Bring (1, anchors * k, height, width) into the anchors' order, cell by cell."""
    by_cell = b.op("Transpose", feature_map, perm=[0, 2, 3, 1])
    return b.op("Reshape", by_cell, b.ints(*shape))


class _SharedHead:
    """Three convolutions whose weights all levels share."""

    def __init__(self, b: GraphBuilder) -> None:
        self._b = b
        self._features = conv_weights(b, "features", _FEATURES)
        self._objectness = conv_weights(b, "objectness", _OBJECTNESS)
        self._deltas = conv_weights(b, "deltas", _DELTAS)

    def apply(self, x: str) -> tuple[str, str]:
        """Return objectness logits (1, 3, h, w) and deltas (1, 12, h, w)."""
        b = self._b
        x = b.op("Relu", apply_conv(b, x, "features", _FEATURES, self._features))
        logits = apply_conv(b, x, "objectness", _OBJECTNESS, self._objectness)
        return logits, apply_conv(b, x, "deltas", _DELTAS, self._deltas)
