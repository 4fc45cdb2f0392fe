"""How far the mean of a few runs may be from the mean of many."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

from scipy.stats import t

CONFIDENCE = 0.95


def half_width(values: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """Half of Student's interval of the mean of independent values.

    Raises
    ------
    ValueError
        If there are fewer than two, which say nothing of how they scatter.
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs two runs or more, got {len(values)}")
    quantile = float(t.ppf((1 + confidence) / 2, len(values) - 1))
    return quantile * stdev(values) / sqrt(len(values))
