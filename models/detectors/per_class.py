"""One branch of tiny operators per class: what makes exported detectors wide.

Exporters unroll the loop over classes that the training code has. A branch selects the class's
candidates, suppresses overlaps among them, and labels what is left.
"""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.boxes import Detections, suppress

SCORE_THRESHOLD = 0.05
IOU_THRESHOLD = 0.5


def column_of_boxes_branch(
    b: GraphBuilder, label: int, above: str, scores: str, boxes: str, limit: int
) -> Detections:
    """Detections of a class that has boxes of its own, as the R-CNN exports do it.

    Parameters
    ----------
    label : int
        Class, background being 0.
    above, scores : str
        Values (rows, classes): whether a score passes the threshold, and the score.
    boxes : str
        Value (rows, classes, 4).
    limit : int
        Detections of the class at most.
    """
    with b.scope(f"class{label}"):
        column = b.index(label)
        rows = _true_rows(b, b.op("Gather", above, column, axis=1))
        class_scores = b.op("Gather", b.op("Gather", scores, column, axis=1), rows)
        class_boxes = b.op("Gather", b.op("Gather", boxes, column, axis=1), rows)
        kept = suppress(b, class_boxes, class_scores, IOU_THRESHOLD, limit)
        return _labelled(b, kept, label)


def shared_boxes_branch(
    b: GraphBuilder, label: int, scores: str, boxes: str, limit: int
) -> Detections:
    """Detections of a class that shares its boxes with the others, as SSD's decoder does it.

    The best `limit` candidates are taken before suppression, as MLPerf's ``decode_single`` does.

    Parameters
    ----------
    label : int
        Class, background being 0.
    scores, boxes : str
        Values (rows, classes) and (rows, 4).
    limit : int
        Candidates, and so detections, of the class at most.
    """
    with b.scope(f"class{label}"):
        column = b.op("Gather", scores, b.index(label), axis=1)
        rows = _true_rows(b, b.op("Greater", column, b.constant(SCORE_THRESHOLD)))
        candidates = b.op("Gather", column, rows)
        class_boxes = b.op("Gather", boxes, rows)
        count = b.op("Min", b.op("Shape", candidates), b.ints(limit))
        best, order = b.op_multi("TopK", candidates, count, outputs=2, axis=0, name="best")
        best_boxes = b.op("Gather", class_boxes, order)
        kept = suppress(b, best_boxes, best, IOU_THRESHOLD, limit)
        return _labelled(b, kept, label)


def _true_rows(b: GraphBuilder, mask: str) -> str:
    return b.op("Squeeze", b.op("NonZero", mask), b.ints(0))


def _labelled(b: GraphBuilder, kept: Detections, label: int) -> Detections:
    value = numpy_helper.from_array(np.array([label], np.int64))
    labels = b.op("ConstantOfShape", b.op("Shape", kept.scores), value=value, name="labels")
    return Detections(kept.boxes, kept.scores, labels)
