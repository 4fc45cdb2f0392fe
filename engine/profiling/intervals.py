"""Confidence intervals of medians of ratios, and what they show.

References
----------
The interval of a median by order statistics (the sign test): Conover, Practical Nonparametric
Statistics, 3rd edition, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a comparison has shown so far."""

    FASTER = "faster"
    SLOWER = "slower"
    OPEN = "open"


@dataclass(frozen=True)
class Interval:
    """Median of ratios with its confidence interval; rounds counts the ratios."""

    low: float
    median: float
    high: float
    rounds: int

    def verdict(self, min_gain: float) -> Verdict:
        """Whether a ratio below 1 is shown, or shown to be out of reach."""
        if self.high < 1:
            return Verdict.FASTER
        return Verdict.SLOWER if self.low > 1 - min_gain else Verdict.OPEN


_FEW_ROUNDS_MARGIN = 0.05
"""Added to both ends where too few rounds were played for the confidence asked for: the extremes
of three ratios enclose their median in three cases of four only."""


def interval(ratios: Sequence[float], confidence: float) -> Interval:
    """Median and its confidence interval by order statistics.

    Raises
    ------
    ValueError
        If there is no ratio.
    """
    if not ratios:
        raise ValueError("interval: no ratios")
    ordered, count = sorted(ratios), len(ratios)
    middle = median(ordered)
    outside = 0
    # How many of the lowest and the highest may be left out, at (1 - confidence) / 2 each.
    while _tail(count, outside) <= (1 - confidence) / 2:
        outside += 1
    if outside:
        return Interval(ordered[outside - 1], middle, ordered[count - outside], count)
    if count < 3:
        return Interval(0.0, middle, math.inf, count)
    margin = 1 + _FEW_ROUNDS_MARGIN
    return Interval(ordered[0] / margin, middle, ordered[-1] * margin, count)


def median(values: Iterable[float]) -> float:
    """Of one value at least; ``statistics`` would cost a start more than reading a plan does."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _tail(count: int, most: int) -> float:
    """Probability of at most ``most`` heads in ``count`` throws of a fair coin."""
    return sum(math.comb(count, k) for k in range(most + 1)) / 2.0**count
