"""Box arithmetic in the graph: decode deltas, suppress overlaps, keep the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surplus.models.builder import GraphBuilder

# A box grows by at most this factor in one decoding: 1000 / 16, as Detectron's heads have it.
_MAX_LOG_GROWTH = float(np.log(1000.0 / 16.0))


def decode(b: GraphBuilder, anchors: str, deltas: str, extent: float) -> str:
    """Move and scale boxes by deltas and clip them [Girshick et al. 2014, appendix C].

    Parameters
    ----------
    anchors, deltas : str
        Values (..., 4) that broadcast to each other: x1, y1, x2, y2 and dx, dy, dw, dh.
    extent : float
        Boxes are clipped to [0, extent].

    Returns
    -------
    str
        Boxes (..., 4).
    """
    x1, y1, x2, y2 = b.op_multi("Split", anchors, outputs=4, axis=-1, name="anchor_columns")
    dx, dy, dw, dh = b.op_multi("Split", deltas, outputs=4, axis=-1, name="delta_columns")
    left, right = _decode_axis(b, (x1, x2), dx, dw, extent)
    top, bottom = _decode_axis(b, (y1, y2), dy, dh, extent)
    return b.op("Concat", left, top, right, bottom, axis=-1, name="boxes")


def _decode_axis(
    b: GraphBuilder, ends: tuple[str, str], shift: str, growth: str, extent: float
) -> tuple[str, str]:
    half = b.constant(0.5)
    size = b.op("Sub", ends[1], ends[0])
    centre = b.op("Add", ends[0], b.op("Mul", size, half))
    centre = b.op("Add", b.op("Mul", shift, size), centre)
    factor = b.op("Exp", b.op("Min", growth, b.constant(_MAX_LOG_GROWTH)))
    half_size = b.op("Mul", b.op("Mul", factor, size), half)
    bounds = b.constant(0.0), b.constant(extent)
    return (
        b.op("Clip", b.op("Sub", centre, half_size), *bounds),
        b.op("Clip", b.op("Add", centre, half_size), *bounds),
    )


@dataclass(frozen=True)
class Detections:
    """Values of a set of detections: boxes (n, 4), scores (n,) and, past the RPN, labels (n,)."""

    boxes: str
    scores: str
    labels: str = ""


def suppress(
    b: GraphBuilder, boxes: str, scores: str, iou_threshold: float, limit: int
) -> Detections:
    """Drop the boxes that overlap a better one; no labels are made.

    Parameters
    ----------
    boxes, scores : str
        Values (n, 4) and (n,); n may be 0.
    iou_threshold : float
        Overlap above which the worse box goes.
    limit : int
        Boxes kept at most.
    """
    indices = b.op(
        "NonMaxSuppression",
        b.op("Unsqueeze", boxes, b.ints(0)),
        b.op("Unsqueeze", scores, b.ints(0, 1)),
        b.ints(limit),
        b.constant([iou_threshold]),
        name="nms",
    )
    # Of (batch, class, box) only the box matters here.
    column = b.op("Slice", indices, b.ints(2), b.ints(3), b.ints(1))
    kept = b.op("Squeeze", column, b.ints(1))
    return Detections(b.op("Gather", boxes, kept), b.op("Gather", scores, kept))


def keep_best(b: GraphBuilder, found: Detections, limit: int) -> Detections:
    """Keep the `limit` best scores, or all if there are fewer, best first."""
    count = b.op("Min", b.op("Shape", found.scores), b.ints(limit), name="count")
    scores, order = b.op_multi("TopK", found.scores, count, outputs=2, axis=0, name="best")
    labels = b.op("Gather", found.labels, order) if found.labels else ""
    return Detections(b.op("Gather", found.boxes, order), scores, labels)


def join(b: GraphBuilder, parts: list[Detections]) -> Detections:
    """Concatenate sets of detections, with labels if all have some."""
    labels = [part.labels for part in parts if part.labels]
    return Detections(
        b.op("Concat", *(part.boxes for part in parts), axis=0, name="all_boxes"),
        b.op("Concat", *(part.scores for part in parts), axis=0, name="all_scores"),
        b.op("Concat", *labels, axis=0, name="all_labels") if labels else "",
    )
