"""The extension point of arrivals: when the queries of a service come."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from colocation.registry import Registry

Times = npt.NDArray[np.int64]


class Arrivals(Protocol):
    """A process of arrivals, without its seed."""

    @property
    def rate_per_s(self) -> float:
        """Mean rate that a planner is told; > 0."""
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


ARRIVALS: Registry[Arrivals] = Registry("arrivals")


def checked_rate(rate_per_s: float) -> float:
    """Return a rate that is one.

    Raises
    ------
    ValueError
        If it is not > 0 and finite.
    """
    if not 0 < rate_per_s < float("inf"):
        raise ValueError(f"rate_per_s must be > 0 and finite, got {rate_per_s}")
    return float(rate_per_s)
