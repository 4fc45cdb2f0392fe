"""When queries are meant to be sent: endless, ascending offsets in integer nanoseconds.

The sum of the gaps is kept in floating point and rounded once per query, so that rounding
never changes the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from surplus.loadgen.clock import NS_PER_S

_BLOCK = 4096

Arrivals = Callable[[float, np.random.Generator], Iterator[int]]
"""Rate in queries per second, and the generator of this stream -> offsets."""


def poisson(rate_per_s: float, generator: np.random.Generator) -> Iterator[int]:
    """Poisson process: independent exponential gaps, uncapped, the first one included.

    Parameters
    ----------
    rate_per_s : float
        Mean rate, > 0.
    generator : numpy.random.Generator
        The seeded generator of this stream; it advances in blocks of gaps.
    """
    mean_ns = NS_PER_S / _checked(rate_per_s)
    last_ns = 0.0
    while True:
        offsets = last_ns + np.cumsum(generator.exponential(mean_ns, _BLOCK))
        last_ns = float(offsets[-1])
        yield from np.rint(offsets).astype(np.int64).tolist()


def uniform(rate_per_s: float, generator: np.random.Generator) -> Iterator[int]:
    """Evenly spaced queries, the first at offset 0; ``generator`` is not used."""
    gap_ns = NS_PER_S / _checked(rate_per_s)
    index = 0
    while True:
        yield round(index * gap_ns)
        index += 1


ARRIVALS: dict[str, Arrivals] = {"poisson": poisson, "uniform": uniform}


def _checked(rate_per_s: float) -> float:
    if not 0 < rate_per_s < float("inf"):
        raise ValueError(f"rate_per_s must be > 0 and finite, got {rate_per_s}")
    return rate_per_s
