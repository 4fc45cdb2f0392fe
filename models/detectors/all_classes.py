"""One suppression for all classes at once, and the outputs of a single-shot detector."""

from __future__ import annotations

import onnx
from onnx import TensorProto

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.boxes import Detections, keep_best
from surplus.models.detectors.per_class import IOU_THRESHOLD, SCORE_THRESHOLD


def detect_all_classes(
    b: GraphBuilder, logits: str, boxes: str, classes: int, limit: int
) -> Detections:
    """Score, suppress within each class by one operator, and keep the best of all classes.

    Parameters
    ----------
    logits, boxes : str
        Values (1, classes + 1, n), background first, and (1, n, 4).
    limit : int
        Detections at most, of a class and in all.
    """
    probabilities = b.op("Softmax", logits, axis=1, name="scores")
    last = b.ints(classes + 1)
    scores = b.op("Slice", probabilities, b.ints(1), last, b.ints(1), name="foreground")
    return keep_best(b, _suppress(b, boxes, scores, limit), limit)


def _suppress(b: GraphBuilder, boxes: str, scores: str, limit: int) -> Detections:
    picked = b.op(
        "NonMaxSuppression",
        boxes,
        scores,
        b.ints(limit),
        b.constant([IOU_THRESHOLD]),
        b.constant([SCORE_THRESHOLD]),
        name="nms",
    )
    _, label, box = b.op_multi("Split", picked, outputs=3, axis=1, name="picked")
    rows = b.op("Squeeze", boxes, b.ints(0), name="rows")
    kept = b.op("Gather", rows, b.op("Squeeze", box, b.ints(1)))
    labels = b.op("Add", b.op("Squeeze", label, b.ints(1)), b.index(1))
    return Detections(kept, b.op("GatherND", scores, picked), labels)


def finish(b: GraphBuilder, found: Detections, description: str) -> onnx.ModelProto:
    """Declare boxes (1, n, 4), labels and scores (1, n), and close the graph."""
    for value, name, shape, elem_type in (
        (found.boxes, "boxes", (1, "detections", 4), TensorProto.FLOAT),
        (found.labels, "labels", (1, "detections"), TensorProto.INT64),
        (found.scores, "scores", (1, "detections"), TensorProto.FLOAT),
    ):
        b.output(b.op("Unsqueeze", value, b.ints(0)), name, shape, elem_type)
    return b.build(description)
