"""A day's rise and fall: a Poisson process whose rate follows a sine."""

from __future__ import annotations

from math import cos, pi

import numpy as np

from surplus.colocation.frame.arrival import (
    ARRIVALS,
    Times,
    checked_count,
    checked_length,
    checked_rate,
)
from surplus.colocation.frame.clock import NS_PER_S


@ARRIVALS.register("diurnal")
class Diurnal:
    """Rate ``mean x (1 + swing x sin(2 pi (t / period + phase)))``.

    Parameters
    ----------
    rate_per_s : float
        Mean over a period.
    swing : float
        0 to 1.
    period_s : float
        Length of a day; >= 0.001.
    phase : float
        Where in its day the run begins, as a fraction.
    """

    def __init__(
        self, rate_per_s: float, swing: float = 0.8, period_s: float = 60.0, phase: float = 0.0
    ) -> None:
        self._rate_per_s = checked_rate(rate_per_s)
        if not 0 <= swing <= 1:
            raise ValueError(f"swing must be 0 to 1, got {swing}")
        self._swing, self._phase = swing, phase
        self._period_s = checked_length(period_s, "period_s")

    @property
    def rate_per_s(self) -> float:
        """The mean rate."""
        return self._rate_per_s

    def mean_per_s(self, duration_ns: int) -> float:
        """Of the part of a day that the run is."""
        days = duration_ns / NS_PER_S / self._period_s
        begin, end = 2 * pi * self._phase, 2 * pi * (self._phase + days)
        swung = self._swing * (cos(begin) - cos(end)) / (end - begin)
        return self._rate_per_s * (1 + swung)

    def scaled(self, factor: float) -> Diurnal:
        """Another mean; the day is as long as before."""
        return Diurnal(self._rate_per_s * factor, self._swing, self._period_s, self._phase)

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Thin a process of the highest rate (Lewis and Shedler, 1979)."""
        peak = 1 + self._swing
        mean = self._rate_per_s * peak * duration_ns / NS_PER_S
        count = generator.poisson(checked_count(mean))
        times_s = np.sort(generator.random(count)) * (duration_ns / NS_PER_S)
        angle = 2 * np.pi * (times_s / self._period_s + self._phase)
        kept = generator.random(count) * peak < 1 + self._swing * np.sin(angle)
        times_ns: Times = (times_s[kept] * NS_PER_S).astype(np.int64)
        return times_ns[times_ns < duration_ns]
