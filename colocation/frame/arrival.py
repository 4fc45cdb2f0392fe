"""The extension point of arrivals: when the queries of a service come."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from surplus.colocation.frame.registry import Registry

Times = npt.NDArray[np.int64]


class Arrivals(Protocol):
    """A process of arrivals, without its seed."""

    @property
    def rate_per_s(self) -> float:
        """Mean rate in the long run; > 0."""
        ...

    def scaled(self, factor: float) -> Arrivals:
        """The same process with its rate times ``factor``, > 0; lengths of phases stay."""
        ...

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Draw the arrivals of one run.

        Returns
        -------
        array of int64, (queries,)
            Ascending, ``0 <= t < duration_ns``.
        """
        ...


@runtime_checkable
class VaryingArrivals(Arrivals, Protocol):
    """Arrivals whose rate moves in a way that is known beforehand."""

    def mean_per_s(self, duration_ns: int) -> float:
        """Mean rate that is expected of a run of this length, from the beginning on; >= 0."""
        ...


def expected_per_s(arrivals: Arrivals, duration_ns: int) -> float:
    """Rate of a run that a planner is told, > 0: of a part of a day, the rate of that part."""
    if isinstance(arrivals, VaryingArrivals):
        return max(_LEAST_PER_S, arrivals.mean_per_s(duration_ns))
    return arrivals.rate_per_s


ARRIVALS: Registry[Arrivals] = Registry("arrivals")

MOST_QUERIES = 20_000_000
"""Of a service in a run: more take gigabytes, and a quarter of an hour for each policy."""

_LEAST_PER_S = 1e-6
_LENGTHS_S = (1e-3, 1e9)


def checked_rate(rate_per_s: float, name: str = "rate_per_s") -> float:
    """Return a rate, or a factor on one, that is one.

    Raises
    ------
    ValueError
        If it is not finite, or below 1e-6, where times no longer fit 64 bits.
    """
    if not _LEAST_PER_S <= rate_per_s < float("inf"):
        raise ValueError(f"{name} must be >= {_LEAST_PER_S:g} and finite, got {rate_per_s}")
    return float(rate_per_s)


def checked_length(length_s: float, name: str) -> float:
    """Return the length of a phase of a load, if it is one.

    Raises
    ------
    ValueError
        If it is below a millisecond, of which a run would have too many, or above 1e9 s.
    """
    least_s, most_s = _LENGTHS_S
    if not least_s <= length_s <= most_s:
        raise ValueError(f"{name} must be {least_s:g} to {most_s:g}, got {length_s}")
    return float(length_s)


def checked_count(mean: float) -> float:
    """Return how many queries are to be drawn, if they are not too many.

    Raises
    ------
    ValueError
        If they are more than ``MOST_QUERIES``.
    """
    if not mean <= MOST_QUERIES:
        raise ValueError(f"a load of {mean:.3g} queries; the most are {MOST_QUERIES}")
    return mean
