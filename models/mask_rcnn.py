"""Mask R-CNN: Faster R-CNN and a mask head, same weights where they agree.

What is said of the zoo's export in `surplus.models.faster_rcnn` holds here, too (178 MB).
"""

from __future__ import annotations

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.calibration import rcnn_calibration
from surplus.models.detectors.rcnn_heads import MASK_PIXELS, predict_masks
from surplus.models.faster_rcnn import RcnnParams, add_detector, add_outputs, rcnn_inputs
from surplus.models.registry import register


def build_mask_rcnn(params: RcnnParams) -> onnx.ModelProto:
    """Build Mask R-CNN: the outputs of Faster R-CNN and masks (n, 1, 28, 28)."""
    b = GraphBuilder("mask_rcnn", params.seed)
    levels, found = add_detector(b, params, rcnn_calibration(params.image_size))
    with b.scope("mask_head"):
        masks = predict_masks(b, levels, found, params.classes)
    add_outputs(b, found)
    b.output(masks, "masks", ("detections", 1, MASK_PIXELS, MASK_PIXELS))
    return b.build("Mask R-CNN R50-FPN, per-class branches, seeded weights")


register(
    "mask_rcnn",
    family="detector",
    description="Mask R-CNN R50-FPN, 320 x 320: about 1820 operators, 80 per-class branches",
    params=RcnnParams,
    build=build_mask_rcnn,
    example_inputs=rcnn_inputs,
)
