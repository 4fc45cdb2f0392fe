"""SSD on ResNet-34: once with one suppression for all classes, once with a branch per class.

The architecture is MLPerf's ``ssd-resnet34`` [Liu et al. 2016]: maps of 38, 19, 10, 5, 3, 1
cells and 8,732 boxes at 300 x 300; 50, 25, 13, 7, 3, 3 cells and 15,130 boxes at 1200 x 1200,
20 million weights (80 MB). `ssd` suppresses as the public model zoo's export does, in one
multi-class NonMaxSuppression; `ssd_per_class` unrolls MLPerf's ``decode_single``. The graphs
are our own construction with seeded weights and folded batch norms. Both find 20 to 100 objects
in the street scene and none in an image that is zero after normalisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx import TensorProto

from models.builder import Array, GraphBuilder
from models.detectors.boxes import Detections, join, keep_best
from models.detectors.calibration import SSD_DEFAULT_SIZE, ssd_calibration
from models.detectors.per_class import IOU_THRESHOLD, SCORE_THRESHOLD, shared_boxes_branch
from models.detectors.ssd_network import map_sizes, ssd_boxes, ssd_network
from models.images import normalized_input, street
from models.registry import register

MAX_DETECTIONS = 200


@dataclass(frozen=True)
class SsdParams:
    """Parameters of both SSDs.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 257; from 600 on the layout for 1200.
    classes : int
        Classes besides the background; branches of `ssd_per_class`.
    seed : int
        Seed of the weights. Detections are calibrated for seed 0.
    """

    image_size: int = SSD_DEFAULT_SIZE
    classes: int = 80
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(map_sizes(self.image_size)) < 1:
            raise ValueError(f"image_size must be at least 257, got {self.image_size}")
        if self.classes < 1:
            raise ValueError(f"classes must be at least 1, got {self.classes}")


def build_ssd(params: SsdParams) -> onnx.ModelProto:
    """Build SSD with one multi-class suppression."""
    b = GraphBuilder("ssd", params.seed)
    logits, deltas = _network(b, params)
    with b.scope("detect"):
        boxes = ssd_boxes(b, deltas, params.image_size)
        probabilities = b.op("Softmax", logits, axis=1, name="scores")
        last = b.ints(params.classes + 1)
        scores = b.op("Slice", probabilities, b.ints(1), last, b.ints(1), name="foreground")
        found = keep_best(b, _suppress_all_classes(b, boxes, scores), MAX_DETECTIONS)
    return _finish(b, found, "SSD ResNet-34, one multi-class suppression, seeded weights")


def build_ssd_per_class(params: SsdParams) -> onnx.ModelProto:
    """Build SSD with a branch per class."""
    b = GraphBuilder("ssd_per_class", params.seed)
    logits, deltas = _network(b, params)
    with b.scope("detect"):
        boxes = b.op("Squeeze", ssd_boxes(b, deltas, params.image_size), b.ints(0))
        rows = b.op("Squeeze", b.op("Transpose", logits, perm=[0, 2, 1]), b.ints(0))
        scores = b.op("Softmax", rows, axis=1, name="scores")
        branches = [
            shared_boxes_branch(b, label, scores, boxes, MAX_DETECTIONS)
            for label in range(1, params.classes + 1)
        ]
        found = keep_best(b, join(b, branches), MAX_DETECTIONS)
    return _finish(b, found, "SSD ResNet-34, a branch per class, seeded weights")


def _network(b: GraphBuilder, params: SsdParams) -> tuple[str, str]:
    size = params.image_size
    image = b.input("image", (1, 3, size, size))
    return ssd_network(b, image, size, params.classes, ssd_calibration(size))


def _suppress_all_classes(b: GraphBuilder, boxes: str, scores: str) -> Detections:
    """Suppress within each class at once: `boxes` (1, n, 4), `scores` (1, classes, n)."""
    picked = b.op(
        "NonMaxSuppression",
        boxes,
        scores,
        b.ints(MAX_DETECTIONS),
        b.constant([IOU_THRESHOLD]),
        b.constant([SCORE_THRESHOLD]),
        name="nms",
    )
    _, label, box = b.op_multi("Split", picked, outputs=3, axis=1, name="picked")
    rows = b.op("Squeeze", boxes, b.ints(0), name="rows")
    kept = b.op("Gather", rows, b.op("Squeeze", box, b.ints(1)))
    labels = b.op("Add", b.op("Squeeze", label, b.ints(1)), b.index(1))
    return Detections(kept, b.op("GatherND", scores, picked), labels)


def _finish(b: GraphBuilder, found: Detections, description: str) -> onnx.ModelProto:
    for value, name, shape, elem_type in (
        (found.boxes, "boxes", (1, "detections", 4), TensorProto.FLOAT),
        (found.labels, "labels", (1, "detections"), TensorProto.INT64),
        (found.scores, "scores", (1, "detections"), TensorProto.FLOAT),
    ):
        b.output(b.op("Unsqueeze", value, b.ints(0)), name, shape, elem_type)
    return b.build(description)


def ssd_inputs(params: SsdParams, seed: int) -> dict[str, Array]:
    """Make the street scene of that seed."""
    return {"image": normalized_input(street(params.image_size, params.image_size, seed))}


register(
    "ssd",
    family="detector",
    description="SSD-ResNet34, 300 x 300, one multi-class suppression",
    params=SsdParams,
    build=build_ssd,
    example_inputs=ssd_inputs,
)
register(
    "ssd_per_class",
    family="detector",
    description="SSD-ResNet34, 300 x 300: about 1700 operators, 80 per-class branches",
    params=SsdParams,
    build=build_ssd_per_class,
    example_inputs=ssd_inputs,
)
