"""How service times scatter around a profile: a factor for each draw, of mean 1."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, log1p, sqrt
from statistics import NormalDist

from surplus.colocation.frame.profile import checked_deviation
from surplus.colocation.frame.registry import Registry

Noise = Callable[[float, float], float]
"""Draw (0 < u < 1) and relative standard deviation of the profile -> factor > 0."""

NOISES: Registry[Noise] = Registry("noise")
_NORMAL = NormalDist()


@NOISES.register("none")
def _none() -> Noise:
    """Service times are the profile's."""
    return lambda draw, spread: 1.0


@NOISES.register("exponential")
def _exponential() -> Noise:
    """Exponential service times: the M of queueing theory, whatever the profile says."""
    return lambda draw, spread: -log1p(-draw)


@NOISES.register("lognormal")
def _lognormal(spread: float | None = None) -> Noise:
    """Lognormal factors; ``spread`` is their standard deviation, the profile's if not given."""
    if spread is not None:
        checked_deviation(spread, "spread")

    def factor(draw: float, profiled: float) -> float:
        deviation = profiled if spread is None else spread
        if deviation == 0.0:
            return 1.0
        variance = log(1.0 + deviation * deviation)
        return exp(sqrt(variance) * _NORMAL.inv_cdf(draw) - variance / 2)

    return factor
