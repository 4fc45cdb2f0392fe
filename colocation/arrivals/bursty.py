"""Bursts: a Poisson process whose rate jumps between two levels at random times.

References
----------
Fischer, Meier-Hellstern: The Markov-modulated Poisson process (MMPP) cookbook, Performance
Evaluation 18, 1993; two states.
"""

from __future__ import annotations

import numpy as np

from surplus.colocation.frame.arrival import (
    ARRIVALS,
    Times,
    checked_count,
    checked_length,
    checked_rate,
)
from surplus.colocation.frame.clock import NS_PER_S


@ARRIVALS.register("bursty")
class Bursty:
    """Calm and burst take turns, each for an exponential time.

    Parameters
    ----------
    rate_per_s : float
        Mean over a long time.
    peak : float
        Rate in a burst, over the mean rate; > 1.
    burst_s, calm_s : float
        Mean lengths, >= 0.001; the calm rate follows from them, and must not be negative.

    Raises
    ------
    ValueError
        If bursts alone exceed the mean rate, or a value is out of range.
    """

    def __init__(
        self, rate_per_s: float, peak: float = 3.0, burst_s: float = 1.0, calm_s: float = 4.0
    ) -> None:
        self._rate_per_s = checked_rate(rate_per_s)
        if not peak > 1:
            raise ValueError(f"peak must be > 1, got {peak}")
        burst_s, calm_s = checked_length(burst_s, "burst_s"), checked_length(calm_s, "calm_s")
        calm = ((burst_s + calm_s) - peak * burst_s) / calm_s
        if calm < 0:
            most = (burst_s + calm_s) / burst_s
            raise ValueError(f"peak must be <= {most:g} with these lengths, got {peak}")
        self._peak = peak
        self._rates_per_s = (calm * rate_per_s, peak * rate_per_s)
        self._lengths_s = (calm_s, burst_s)

    @property
    def rate_per_s(self) -> float:
        """The mean rate."""
        return self._rate_per_s

    def scaled(self, factor: float) -> Bursty:
        """Calm and bursts scaled alike, as long as before."""
        calm_s, burst_s = self._lengths_s
        return Bursty(self._rate_per_s * factor, self._peak, burst_s, calm_s)

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Draw the phases, the first one by its share of the time, and then arrivals in each."""
        calm_s, burst_s = self._lengths_s
        checked_count(self._rate_per_s * duration_ns / NS_PER_S)
        phase = int(generator.random() < burst_s / (calm_s + burst_s))
        start_ns = 0.0
        pieces = [np.empty(0)]
        while start_ns < duration_ns:
            length_ns = generator.exponential(self._lengths_s[phase]) * NS_PER_S
            mean = self._rates_per_s[phase] * length_ns / NS_PER_S
            count = generator.poisson(checked_count(mean))
            pieces.append(start_ns + np.sort(generator.random(count)) * length_ns)
            start_ns += length_ns
            phase = 1 - phase
        times_ns = np.concatenate(pieces).astype(np.int64)
        return times_ns[times_ns < duration_ns]
