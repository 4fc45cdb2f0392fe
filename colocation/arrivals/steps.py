"""A rate that jumps at stated times: Poisson arrivals within each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surplus.colocation.frame.arrival import (
    ARRIVALS,
    Times,
    checked_count,
    checked_length,
    checked_rate,
)
from surplus.colocation.frame.clock import NS_PER_S


@ARRIVALS.register("steps")
class Steps:
    """Equally long steps, a rate for each; the last one holds on.

    Parameters
    ----------
    rates_per_s : sequence of float
        Not negative, not all 0.
    step_s : float
        Length of a step; >= 0.001.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    def __init__(self, rates_per_s: Sequence[float], step_s: float) -> None:
        if not rates_per_s or not 0 <= min(rates_per_s) <= max(rates_per_s) < float("inf"):
            raise ValueError(f"rates_per_s must be >= 0 and finite, got {list(rates_per_s)}")
        self._rates_per_s = tuple(rates_per_s)
        self._step_s = checked_length(step_s, "step_s")
        checked_rate(self.rate_per_s)

    @property
    def rate_per_s(self) -> float:
        """Mean over the steps."""
        return sum(self._rates_per_s) / len(self._rates_per_s)

    def mean_per_s(self, duration_ns: int) -> float:
        """Of the steps that there is time for; the last one as long as the run goes on."""
        expected = sum(
            rate_per_s * max(0.0, min(end_ns, duration_ns) - start_ns)
            for rate_per_s, start_ns, end_ns in self._spans(duration_ns)
        )
        return expected / duration_ns

    def scaled(self, factor: float) -> Steps:
        """All rates scaled alike."""
        checked_rate(factor)
        return Steps([rate * factor for rate in self._rates_per_s], self._step_s)

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Draw how many arrivals a step has, and when."""
        pieces = [np.empty(0)]
        for rate_per_s, start_ns, end_ns in self._spans(duration_ns):
            mean = rate_per_s * (end_ns - start_ns) / NS_PER_S
            count = generator.poisson(checked_count(mean))
            pieces.append(start_ns + np.sort(generator.random(count)) * (end_ns - start_ns))
        times_ns = np.concatenate(pieces).astype(np.int64)
        return times_ns[times_ns < duration_ns]

    def _spans(self, duration_ns: int) -> Iterator[tuple[float, float, float]]:
        """Rate, begin and end of each step; all but the last are whole however short the run."""
        step_ns = self._step_s * NS_PER_S
        for step, rate_per_s in enumerate(self._rates_per_s):
            last = step == len(self._rates_per_s) - 1
            start_ns = step * step_ns
            yield rate_per_s, start_ns, max(start_ns, duration_ns) if last else start_ns + step_ns
