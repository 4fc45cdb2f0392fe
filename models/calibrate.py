"""Measures the two numbers of `surplus.models.detectors.calibration` anew.

``python -m surplus.models.calibrate``

Needs onnxruntime, which nothing else in this package does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from surplus.models.builder import Array
from surplus.models.detectors.calibration import (
    Calibration,
    rcnn_calibration,
    ssd_calibration,
    ssd_mobilenet_calibration,
)
from surplus.models.detectors.per_class import SCORE_THRESHOLD
from surplus.models.registry import info

LOGIT_STD = 3.0
PAIRS = 80


@dataclass(frozen=True)
class _Head:
    """The value of a model's logits, their axis of classes, and the numbers in use."""

    logits: str
    axis: int
    current: Callable[[int], Calibration]


_HEADS = {
    "faster_rcnn": _Head("box_head/class_logits:", 1, rcnn_calibration),
    "ssd": _Head("head/logits:", 1, ssd_calibration),
    "ssd_mobilenet_v1": _Head("head/logits:", 1, ssd_mobilenet_calibration),
}


def calibrate(name: str, image_size: int) -> Calibration:
    """Measure a detector's logits on the street scene and derive gain and bias.

    Parameters
    ----------
    name : str
        'faster_rcnn' (whose numbers serve Mask R-CNN, too), 'ssd' (both on ResNet-34) or
        'ssd_mobilenet_v1'.
    image_size : int
        Height and width of the image in pixels.
    """
    logits = _measured_logits(name, image_size)
    before = _HEADS[name].current(image_size)
    # The present background bias must not count as spread.
    logits[:, 0] -= before.background_bias
    factor = LOGIT_STD / float(logits.std())
    bias = background_bias_for(logits * factor, PAIRS)
    return Calibration(round(before.logit_gain * factor, 4), round(bias, 3))


def background_bias_for(logits: Array, pairs: int) -> float:
    """Bisect the bias with which about `pairs` foreground scores pass the threshold.

    Parameters
    ----------
    logits : numpy.ndarray
        (rows, classes), background first.
    """
    low, high = 0.0, 100.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if _passing(logits, middle) > pairs else (low, middle)
    return high


def _passing(logits: Array, bias: float) -> int:
    biased = logits.copy()
    biased[:, 0] += bias
    scores = np.exp(biased - biased.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    return int((scores[:, 1:] > SCORE_THRESHOLD).sum())


def _measured_logits(name: str, image_size: int) -> Array:
    head = _HEADS[name]
    model = info(name).build(image_size=image_size)
    model.graph.output.append(
        helper.make_tensor_value_info(head.logits, onnx.TensorProto.FLOAT, None)
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    inputs = info(name).example_inputs(image_size=image_size)
    logits: Array = np.moveaxis(session.run([head.logits], inputs)[0], head.axis, -1)
    return logits.reshape(-1, logits.shape[-1])


def main(arguments: list[str] | None = None) -> None:
    """Print the numbers for the image sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(_HEADS))
    parser.add_argument("image_size", type=int, nargs="+")
    options: Any = parser.parse_args(arguments)
    for image_size in options.image_size:
        print(f"{options.model} {image_size}: {calibrate(options.model, image_size)}")


if __name__ == "__main__":
    main()
