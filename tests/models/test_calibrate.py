"""The calibration tool and the constants that it left in the code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from surplus.models.calibrate import background_bias_for, calibrate
from surplus.models.detectors.calibration import (
    Calibration,
    ssd_calibration,
    ssd_mobilenet_calibration,
)


def test_bias_lets_the_wanted_number_pass() -> None:
    logits = np.random.default_rng(0).normal(0.0, 3.0, (500, 81))
    biased = logits.copy()
    biased[:, 0] += background_bias_for(logits, 80)
    scores = np.exp(biased) / np.exp(biased).sum(axis=1, keepdims=True)
    assert abs(int((scores[:, 1:] > 0.05).sum()) - 80) <= 2


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("ssd", ssd_calibration), ("ssd_mobilenet_v1", ssd_mobilenet_calibration)],
)
def test_constants_are_what_the_tool_measures(
    name: str, numbers: Callable[[int], Calibration]
) -> None:
    measured, stored = calibrate(name, 300), numbers(300)
    assert measured.logit_gain == pytest.approx(stored.logit_gain, rel=1e-2)
    assert measured.background_bias == pytest.approx(stored.background_bias, rel=1e-2)
