"""Poisson process: many independent users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from surplus.loadgen.arrivals.process import checked_rate, register
from surplus.loadgen.clock import NS_PER_S

_BLOCK = 4096


def poisson(rate_per_s: float, generator: np.random.Generator) -> Iterator[int]:
    """Independent exponential gaps, uncapped, the first one included.

    Parameters
    ----------
    rate_per_s : float
        Mean rate, > 0.
    generator : numpy.random.Generator
        The seeded generator of this stream; it advances in blocks of gaps.
    """
    mean_ns = NS_PER_S / checked_rate(rate_per_s)
    last_ns = 0.0
    while True:
        offsets = last_ns + np.cumsum(generator.exponential(mean_ns, _BLOCK))
        last_ns = float(offsets[-1])
        yield from np.rint(offsets).astype(np.int64).tolist()


@register("poisson")
class PoissonArrivals:
    """``poisson`` as a shape."""

    def __init__(self, rate_per_s: float) -> None:
        self.rate_per_s = checked_rate(rate_per_s)

    def scaled(self, factor: float) -> PoissonArrivals:
        """Another rate."""
        return PoissonArrivals(self.rate_per_s * factor)

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Draw them."""
        return poisson(self.rate_per_s, generator)

    def describe(self) -> dict[str, Any]:
        """Name and rate."""
        return {"process": "poisson", "rate_per_s": self.rate_per_s}
