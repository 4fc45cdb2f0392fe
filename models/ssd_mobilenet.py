"""SSD on MobileNetV1, 300 x 300 [Liu et al. 2016; Howard et al. 2017, table 13].

As `ssd`, it suppresses all classes in one NonMaxSuppression, behind a softmax with a background;
TensorFlow's model scores by a sigmoid per class. It finds 20 to 100 objects in the street scene.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.all_classes import detect_all_classes, finish
from surplus.models.detectors.calibration import SSD_DEFAULT_SIZE, ssd_mobilenet_calibration
from surplus.models.detectors.ssd_mobilenet_network import ssd_mobilenet
from surplus.models.image_classifier import check_sizes, street_input
from surplus.models.registry import register

MAX_DETECTIONS = 100


@dataclass(frozen=True)
class SsdMobilenetParams:
    """Parameters of SSD-MobileNetV1.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Classes besides the background; 90 are COCO's label numbers.
    seed : int
        Seed of the weights. Detections are calibrated for seed 0.
    """

    image_size: int = SSD_DEFAULT_SIZE
    classes: int = 90
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self)


def build_ssd_mobilenet_v1(params: SsdMobilenetParams) -> onnx.ModelProto:
    """Build SSD-MobileNetV1: image (1, 3, size, size), normalised RGB, to detections."""
    b = GraphBuilder("ssd_mobilenet_v1", params.seed)
    size = params.image_size
    image = b.input("image", (1, 3, size, size))
    calibration = ssd_mobilenet_calibration(size)
    logits, boxes = ssd_mobilenet(b, image, size, params.classes, calibration)
    with b.scope("detect"):
        found = detect_all_classes(b, logits, boxes, params.classes, MAX_DETECTIONS)
    return finish(b, found, "SSD MobileNetV1, seeded weights, batch norms folded")


register(
    "ssd_mobilenet_v1",
    family="detector",
    description="SSD-MobileNetV1, 300 x 300: light, six maps with two heads each",
    params=SsdMobilenetParams,
    build=build_ssd_mobilenet_v1,
    example_inputs=street_input,
)
