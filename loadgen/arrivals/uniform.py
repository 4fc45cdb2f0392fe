"""Evenly spaced queries: a machine that polls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from surplus.loadgen.arrivals.process import checked_rate, register
from surplus.loadgen.clock import NS_PER_S


def uniform(rate_per_s: float, generator: np.random.Generator) -> Iterator[int]:
    """Equal gaps, the first query at offset 0; ``generator`` is not used."""
    gap_ns = NS_PER_S / checked_rate(rate_per_s)
    index = 0
    while True:
        yield round(index * gap_ns)
        index += 1


@register("uniform")
class UniformArrivals:
    """``uniform`` as a shape."""

    def __init__(self, rate_per_s: float) -> None:
        self.rate_per_s = checked_rate(rate_per_s)

    def scaled(self, factor: float) -> UniformArrivals:
        """Another rate."""
        return UniformArrivals(self.rate_per_s * factor)

    def offsets_ns(self, generator: np.random.Generator) -> Iterator[int]:
        """Space them; nothing is drawn."""
        return uniform(self.rate_per_s, generator)

    def describe(self) -> dict[str, Any]:
        """Name and rate."""
        return {"process": "uniform", "rate_per_s": self.rate_per_s}
