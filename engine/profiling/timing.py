"""A measured or derived time with its dispersion."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Service time.

    Parameters
    ----------
    ns : int
        Median of the repeats, nanoseconds.
    mad_ns : int
        Median absolute deviation from it; 0 for derived times.
    """

    ns: int
    mad_ns: int = 0

    @staticmethod
    def of(samples: Sequence[int]) -> Timing:
        """From the repeats, at least one."""
        median = statistics.median(samples)
        spread = statistics.median(abs(sample - median) for sample in samples)
        return Timing(round(median), round(spread))

    def less(self, overhead_ns: int, least_ns: int = 1) -> Timing:
        """Without a constant part; at least ``least_ns`` stays, so that no task is free."""
        return Timing(max(least_ns, self.ns - overhead_ns), self.mad_ns)
