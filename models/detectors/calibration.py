"""What makes a detector with random weights find a realistic number of objects.

Random logits are scaled to a standard deviation of 3 on the street scene, and the background's
bias is raised until about 80 pairs (row, class) score above 0.05. ``surplus.models.calibrate``
measures both numbers anew; those here hold for seed 0. For other image sizes, class counts
and seeds the numbers of the default size serve, and the count of detections may differ.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Calibration:
    """Two numbers of a class head.

    Parameters
    ----------
    logit_gain : float
        Factor on He's standard deviation of the weights that make the logits.
    background_bias : float
        Bias of the background's logit; all others are 0.
    """

    logit_gain: float = 1.0
    background_bias: float = 0.0


RCNN_DEFAULT_SIZE = 320
SSD_DEFAULT_SIZE = 300

_RCNN = {
    320: Calibration(logit_gain=3.7171, background_bias=14.771),
    640: Calibration(logit_gain=3.8791, background_bias=14.737),
}
_SSD = {
    300: Calibration(logit_gain=2.3243, background_bias=19.092),
    1200: Calibration(logit_gain=2.7275, background_bias=19.896),
}
_SSD_MOBILENET = {
    300: Calibration(logit_gain=4.3523, background_bias=19.818),
}


def rcnn_calibration(image_size: int) -> Calibration:
    """Return the numbers of the R-CNNs' box head."""
    return _RCNN.get(image_size, _RCNN[RCNN_DEFAULT_SIZE])


def ssd_calibration(image_size: int) -> Calibration:
    """Return the numbers of SSD's class heads."""
    return _SSD.get(image_size, _SSD[SSD_DEFAULT_SIZE])


def ssd_mobilenet_calibration(image_size: int) -> Calibration:
    """Return the numbers of SSD-MobileNetV1's class heads."""
    return _SSD_MOBILENET.get(image_size, _SSD_MOBILENET[SSD_DEFAULT_SIZE])
