"""Faster R-CNN on ResNet-50-FPN, as wide as the public model zoo's export.

The architecture, the input (3, height, width) in blue-green-red minus the mean, the per-class
branches and the file size (167 MB) follow the zoo's opset-10 export; the graph is our own
construction at opset 17, with a static image size, seeded weights, batch norms folded, and
about as many nodes (within 10 %). It finds 20 to 100 objects in the street scene, none in an
all-zero image, and the cap of 100 in noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx import TensorProto

from surplus.models.builder import Array, GraphBuilder
from surplus.models.detectors.boxes import Detections
from surplus.models.detectors.calibration import RCNN_DEFAULT_SIZE, Calibration, rcnn_calibration
from surplus.models.detectors.proposals import propose_regions
from surplus.models.detectors.pyramid import Level, feature_pyramid
from surplus.models.detectors.rcnn_heads import BOX_RESOLUTION, box_logits, detect
from surplus.models.detectors.roi_features import roi_features
from surplus.models.images import rcnn_input, street
from surplus.models.registry import register


@dataclass(frozen=True)
class RcnnParams:
    """Parameters of Faster and Mask R-CNN.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, a multiple of 32.
    proposals : int
        Regions at most; 1000 in the zoo's export.
    classes : int
        Classes besides the background: branches of the graph.
    seed : int
        Seed of the weights. Detections are calibrated for seed 0.
    """

    image_size: int = RCNN_DEFAULT_SIZE
    proposals: int = 1000
    classes: int = 80
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.image_size < 64 or self.image_size % 32:
            raise ValueError(
                f"image_size must be a multiple of 32 and at least 64, got {self.image_size}"
            )
        if self.proposals < 1 or self.classes < 1:
            raise ValueError(f"proposals and classes must be at least 1, got {self}")


def add_detector(
    b: GraphBuilder, params: RcnnParams, calibration: Calibration
) -> tuple[list[Level], Detections]:
    """Add everything from the image to the detections; also return the feature pyramid."""
    size = params.image_size
    image = b.input("image", (3, size, size))
    levels = feature_pyramid(b, b.op("Unsqueeze", image, b.ints(0)), size)
    regions = propose_regions(b, levels, size, params.proposals)
    with b.scope("box_head"):
        features = roi_features(b, levels, regions, BOX_RESOLUTION)
        outputs = box_logits(b, features, params.classes, calibration)
    with b.scope("detect"):
        return levels, detect(b, regions, outputs, params.classes, float(size))


def add_outputs(b: GraphBuilder, found: Detections) -> None:
    """Declare boxes (n, 4) in pixels, labels (n,) from 1, and scores (n,), best first."""
    b.output(found.boxes, "boxes", ("detections", 4))
    b.output(found.labels, "labels", ("detections",), TensorProto.INT64)
    b.output(found.scores, "scores", ("detections",))


def build_faster_rcnn(params: RcnnParams) -> onnx.ModelProto:
    """Build Faster R-CNN."""
    b = GraphBuilder("faster_rcnn", params.seed)
    _, found = add_detector(b, params, rcnn_calibration(params.image_size))
    add_outputs(b, found)
    return b.build("Faster R-CNN R50-FPN, per-class branches, seeded weights")


def rcnn_inputs(params: RcnnParams, seed: int) -> dict[str, Array]:
    """Make the street scene of that seed."""
    return {"image": rcnn_input(street(params.image_size, params.image_size, seed))}


register(
    "faster_rcnn",
    family="detector",
    description="Faster R-CNN R50-FPN, 320 x 320: about 1750 operators, 80 per-class branches",
    params=RcnnParams,
    build=build_faster_rcnn,
    example_inputs=rcnn_inputs,
)
