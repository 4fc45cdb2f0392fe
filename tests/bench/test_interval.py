from __future__ import annotations

import random
from statistics import fmean

import pytest

from bench.infrastructure.interval import half_width


def test_the_interval_of_five_runs_is_students() -> None:
    """2.776 standard errors: 1, 2, 3, 4, 5 have one of 0.7071."""
    assert half_width([1, 2, 3, 4, 5]) == pytest.approx(2.776 * 0.70711, rel=1e-3)
    assert half_width([4.0, 4.0, 4.0]) == 0
    with pytest.raises(ValueError, match="two runs or more, got 1"):
        half_width([1.0])


def test_nineteen_intervals_of_twenty_hold_the_mean() -> None:
    draw = random.Random(1)
    samples = [[draw.gauss(7, 2) for _ in range(5)] for _ in range(500)]
    holds = sum(abs(fmean(own) - 7) <= half_width(own) for own in samples)
    assert holds / len(samples) == pytest.approx(0.95, abs=0.03)
