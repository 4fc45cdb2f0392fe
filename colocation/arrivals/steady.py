"""Poisson and evenly spaced arrivals, as the load generator sends them."""

from __future__ import annotations

from itertools import takewhile
from typing import Self

import numpy as np

from surplus.colocation.frame.arrival import ARRIVALS, Times, checked_count, checked_rate
from surplus.colocation.frame.clock import NS_PER_S
from surplus.loadgen import arrivals as loadgen


class _Steady:
    def __init__(self, rate_per_s: float) -> None:
        self._rate_per_s = checked_rate(rate_per_s)

    @property
    def rate_per_s(self) -> float:
        """The given rate."""
        return self._rate_per_s

    def scaled(self, factor: float) -> Self:
        """Another rate."""
        return type(self)(self._rate_per_s * factor)

    def _before(self, duration_ns: int, process: loadgen.Arrivals, g: np.random.Generator) -> Times:
        checked_count(self._rate_per_s * duration_ns / NS_PER_S)
        offsets = takewhile(lambda t: t < duration_ns, process(self._rate_per_s, g))
        return np.fromiter(offsets, np.int64)


@ARRIVALS.register("poisson")
class Poisson(_Steady):
    """Independent exponential gaps."""

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Draw them."""
        return self._before(duration_ns, loadgen.poisson, generator)


@ARRIVALS.register("uniform")
class Uniform(_Steady):
    """Equal gaps, the first query at 0."""

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Space them; nothing is drawn."""
        return self._before(duration_ns, loadgen.uniform, generator)
