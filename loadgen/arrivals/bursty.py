"""Bursts: a Poisson process whose rate jumps between two levels at random times.

References
----------
Fischer, Meier-Hellstern: The Markov-modulated Poisson process (MMPP) cookbook, Performance
Evaluation 18, 1993; two states, and the index of dispersion of their counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from surplus.loadgen.arrivals.process import checked_length_s, checked_rate, register
from surplus.loadgen.clock import NS_PER_S

_BLOCK = 4096


@register("bursty")
class BurstyArrivals:
    """Calm and burst take turns, each for an exponential time.

    Parameters
    ----------
    rate_per_s : float
        Mean over a long time.
    peak : float
        Rate in a burst, over the mean rate; > 1.
    burst_s, calm_s : float
        Mean lengths; the calm rate follows from them, and must not be negative (0: on and off).

    Raises
    ------
    ValueError
        If bursts alone exceed the mean rate, or a value is out of range.
    """

    def __init__(
        self, rate_per_s: float, peak: float = 3.0, burst_s: float = 1.0, calm_s: float = 4.0
    ) -> None:
        self.rate_per_s = checked_rate(rate_per_s)
        if not peak > 1:
            raise ValueError(f"peak must be > 1, got {peak}")
        self._burst_s = checked_length_s(burst_s, "burst_s")
        self._calm_s = checked_length_s(calm_s, "calm_s")
        most = (burst_s + calm_s) / burst_s
        if peak > most:
            raise ValueError(f"peak must be <= {most:g} with these lengths, got {peak}")
        self._peak = peak

    @property
    def calm_per_s(self) -> float:
        """Rate outside bursts, such that the mean is as given."""
        total_s = self._burst_s + self._calm_s
        return max(0.0, self.rate_per_s * (total_s - self._peak * self._burst_s) / self._calm_s)

    @property
    def dispersion(self) -> float:
        """Variance over mean of the counts in long windows; 1 for a Poisson process."""
        ends, begins = 1 / self._burst_s, 1 / self._calm_s
        burst_per_s = self._peak * self.rate_per_s
        jump = burst_per_s - self.calm_per_s
        weighted = burst_per_s * begins + self.calm_per_s * ends
        return 1 + 2 * jump**2 * ends * begins / ((ends + begins) ** 2 * weighted)

    def scaled(self, factor: float) -> BurstyArrivals:
        """Calm and bursts scaled alike, as long as before."""
        rate_per_s = self.rate_per_s * factor
        return BurstyArrivals(rate_per_s, self._peak, self._burst_s, self._calm_s)

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Draw a phase after the other, the first one by its share of the time."""
        is_burst = generator.random() < self._burst_s / (self._burst_s + self._calm_s)
        start_ns = 0.0
        while True:
            mean_s = self._burst_s if is_burst else self._calm_s
            length_ns = generator.exponential(mean_s) * NS_PER_S
            rate_per_s = self._peak * self.rate_per_s if is_burst else self.calm_per_s
            yield from _phase(start_ns, length_ns, rate_per_s, generator)
            start_ns += length_ns
            is_burst = not is_burst

    def describe(self) -> dict[str, Any]:
        """Name, parameters, and the index of dispersion that they come to."""
        return {
            "process": "bursty",
            "rate_per_s": self.rate_per_s,
            "peak": self._peak,
            "burst_s": self._burst_s,
            "calm_s": self._calm_s,
            "dispersion": self.dispersion,
        }


def _phase(
    start_ns: float, length_ns: float, rate_per_s: float, generator: np.random.Generator
) -> Iterator[int]:
    """A Poisson process from ``start_ns`` on, which ends with its phase."""
    if rate_per_s <= 0:
        return
    mean_ns, at_ns = NS_PER_S / rate_per_s, 0.0
    while at_ns < length_ns:
        offsets = at_ns + np.cumsum(generator.exponential(mean_ns, _BLOCK))
        at_ns = float(offsets[-1])
        kept = start_ns + offsets[offsets < length_ns]
        yield from np.rint(kept).astype(np.int64).tolist()
