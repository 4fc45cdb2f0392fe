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

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.all_classes import detect_all_classes, finish
from surplus.models.detectors.boxes import join, keep_best
from surplus.models.detectors.calibration import SSD_DEFAULT_SIZE, ssd_calibration
from surplus.models.detectors.per_class import shared_boxes_branch
from surplus.models.detectors.ssd_network import map_sizes, ssd_boxes, ssd_network
from surplus.models.image_classifier import street_input
from surplus.models.registry import register

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
        found = detect_all_classes(b, logits, boxes, params.classes, MAX_DETECTIONS)
    return finish(b, found, "SSD ResNet-34, one multi-class suppression, seeded weights")


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
    return finish(b, found, "SSD ResNet-34, a branch per class, seeded weights")


def _network(b: GraphBuilder, params: SsdParams) -> tuple[str, str]:
    size = params.image_size
    image = b.input("image", (1, 3, size, size))
    return ssd_network(b, image, size, params.classes, ssd_calibration(size))


register(
    "ssd",
    family="detector",
    description="SSD-ResNet34, 300 x 300, one multi-class suppression",
    params=SsdParams,
    build=build_ssd,
    example_inputs=street_input,
)
register(
    "ssd_per_class",
    family="detector",
    description="SSD-ResNet34, 300 x 300: about 1700 operators, 80 per-class branches",
    params=SsdParams,
    build=build_ssd_per_class,
    example_inputs=street_input,
)
