"""The knee: the share of a device beyond which a model gains little.

References
----------
D-STACK (TCC'24), section 4.C, equation 6: the maximum of ``1 / (E_t^2 S)``. Sections 3.A and 3.D:
a model without a profile starts with 30 % and is moved by binary search over measured latencies;
the text does not say what it compares with: here the latency of the whole device, and a knee is
the least share whose latency is within a tolerance of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Latency = Callable[[int], float]
"""Processors, or share in percent -> time, in any unit; more never takes longer."""


def derivative(latency: Latency, share: int) -> float:
    """Value of equation 6 without its sign: work per time, per time, per unit of share."""
    return 1.0 / (latency(share) ** 2 * share)


def knee_by_derivative(latency: Latency, shares: Iterable[int] = range(1, 101)) -> int:
    """Share of the maximum of the derivative; the least one of equals."""
    return max(shares, key=lambda share: (derivative(latency, share), -share))


@dataclass(frozen=True)
class KneeSearchParams:
    """How a knee is searched for by measuring.

    Parameters
    ----------
    nominal : int
        The share that is tried first.
    tolerance : float
        Extra latency, against the whole device, that a knee may have; > 0.
    step : int
        Resolution in percent; >= 1.
    most : int
        The whole device.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    nominal: int = 30
    tolerance: float = 0.05
    step: int = 5
    most: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.nominal <= self.most or self.step < 1 or not self.tolerance > 0:
            raise ValueError(f"nominal 1 to {self.most}, step >= 1, tolerance > 0, got {self}")


@dataclass(frozen=True)
class FoundKnee:
    """A knee, and the shares that were measured on the way, in order."""

    share: int
    tried: tuple[int, ...]


def search_knee(measure: Latency, params: KneeSearchParams | None = None) -> FoundKnee:
    """Find a knee with few measurements; each of them costs a reconfiguration.

    Returns
    -------
    FoundKnee
        A share within ``step`` above the least one that is good enough.
    """
    params = params or KneeSearchParams()
    tried = [params.most]
    limit = measure(params.most) * (1.0 + params.tolerance)
    low, high, share = 0, params.most, params.nominal
    while high - low > params.step:
        tried.append(share)
        if measure(share) <= limit:
            high = share
        else:
            low = share
        share = (low + high) // 2
    return FoundKnee(high, tuple(tried))
