"""Box and mask heads of Faster and Mask R-CNN [Lin et al. 2017, 4.2; He et al. 2017, fig. 4]."""

from __future__ import annotations

import numpy as np

from surplus.models.builder import Array, GraphBuilder
from surplus.models.detectors.boxes import Detections, decode, join, keep_best
from surplus.models.detectors.calibration import Calibration
from surplus.models.detectors.per_class import SCORE_THRESHOLD, column_of_boxes_branch
from surplus.models.detectors.pyramid import CHANNELS, Level
from surplus.models.detectors.roi_features import roi_features
from surplus.models.layers import ZERO_MEAN, Conv, Init, conv, conv_relu, gemm, he_normal

BOX_RESOLUTION = 7
MASK_RESOLUTION = 14
MASK_PIXELS = 2 * MASK_RESOLUTION

MAX_DETECTIONS = 100

_HIDDEN = 1024
_VARIANCES = [0.1, 0.1, 0.2, 0.2]


def box_logits(
    b: GraphBuilder, features: str, classes: int, calibration: Calibration
) -> tuple[str, str]:
    """Add the two hidden layers and both outputs of the box head.

    Returns
    -------
    tuple of str
        Logits (n, classes + 1), background first, and deltas (n, 4 * (classes + 1)).
    """
    x = b.op("Flatten", features, axis=1)
    x = b.op("Relu", gemm(b, x, "hidden1", (CHANNELS * BOX_RESOLUTION**2, _HIDDEN), ZERO_MEAN))
    x = b.op("Relu", gemm(b, x, "hidden2", (_HIDDEN, _HIDDEN), ZERO_MEAN))
    bias = background_bias(classes, calibration)
    init = Init(gain=calibration.logit_gain, zero_mean=True)
    logits = gemm(b, x, "class_logits", (_HIDDEN, classes + 1), init, bias)
    return logits, gemm(b, x, "box_deltas", (_HIDDEN, 4 * (classes + 1)), ZERO_MEAN)


def background_bias(classes: int, calibration: Calibration) -> Array:
    """Return the bias (classes + 1,) of a class head: the background's is calibrated."""
    bias = np.zeros(classes + 1, np.float32)
    bias[0] = calibration.background_bias
    return bias


def detect(
    b: GraphBuilder, proposals: str, outputs: tuple[str, str], classes: int, extent: float
) -> Detections:
    """Decode, score and suppress per class, and keep the best of all classes.

    Parameters
    ----------
    proposals : str
        Boxes (n, 4) in pixels.
    outputs : tuple of str
        Logits and deltas of `box_logits`.
    extent : float
        Image size in pixels.
    """
    logits, deltas = outputs
    scores = b.op("Softmax", logits, axis=1, name="scores")
    above = b.op("Greater", scores, b.constant(SCORE_THRESHOLD), name="above")
    by_class = b.op("Reshape", deltas, b.ints(-1, classes + 1, 4))
    scaled = b.op("Mul", by_class, b.constant(_VARIANCES))
    boxes = decode(b, b.op("Unsqueeze", proposals, b.ints(1)), scaled, extent)
    found = [
        column_of_boxes_branch(b, label, above, scores, boxes, MAX_DETECTIONS)
        for label in range(1, classes + 1)
    ]
    return keep_best(b, join(b, found), MAX_DETECTIONS)


def predict_masks(b: GraphBuilder, levels: list[Level], found: Detections, classes: int) -> str:
    """Add the mask head: for each detection the mask of its class.

    Returns
    -------
    str
        Probabilities (n, 1, 28, 28) within each box; n may be 0.
    """
    x = roi_features(b, levels, found.boxes, MASK_RESOLUTION)
    for i in range(1, 5):
        x = conv_relu(b, x, f"conv{i}", Conv(CHANNELS, CHANNELS, 3, init=ZERO_MEAN))
    x = b.op("Relu", _upsample(b, x))
    x = conv(b, x, "mask_logits", Conv(CHANNELS, classes + 1, init=ZERO_MEAN))
    return _mask_of_label(b, b.op("Sigmoid", x), found.labels, classes)


def _upsample(b: GraphBuilder, x: str) -> str:
    # Each output pixel sees one tap of the 2 x 2 kernel: a quarter of the fan-in that he_normal
    # counts, hence twice the deviation.
    shape = (CHANNELS, CHANNELS, 2, 2)
    weight = he_normal(b.weight_rng("upsample"), shape, Init(gain=2.0))
    return b.op(
        "ConvTranspose",
        x,
        b.initializer(b.path("upsample.weight"), weight),
        b.initializer(b.path("upsample.bias"), np.zeros(CHANNELS, np.float32)),
        name="upsample",
        kernel_shape=[2, 2],
        strides=[2, 2],
    )


def _mask_of_label(b: GraphBuilder, masks: str, labels: str, classes: int) -> str:
    count = b.op("Squeeze", b.op("Shape", labels), b.ints(0))
    detection = b.op("Range", b.index(0), count, b.index(1))
    plane = b.op("Add", b.op("Mul", detection, b.index(classes + 1)), labels)
    flat = b.op("Reshape", masks, b.ints(-1, MASK_PIXELS, MASK_PIXELS))
    return b.op("Unsqueeze", b.op("Gather", flat, plane), b.ints(1))
