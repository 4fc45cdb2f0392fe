"""Which queries are sent when, drawn before the first: what is sent late is late all the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bench.chaos.setting import NARROW, WIDE, WIDE_SHARE

WAYS = ("client", "route")
"""``surplus``' own client, and any client by ``engine route``; in turns."""
_MOST = 1 << 24
"""Queries: each has a number that a float holds."""


@dataclass(frozen=True)
class ChaosLoad:
    """An open loop.

    Parameters
    ----------
    queries : int
    rate_per_s : float
        Of all, > 0; Poisson.
    seed : int
    timeout_s : float
        In which a query is due.
    """

    queries: int
    rate_per_s: float
    seed: int = 1
    timeout_s: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.queries <= _MOST:
            raise ValueError(f"queries must be 1 to {_MOST}, got {self.queries}")
        if not self.rate_per_s > 0:
            raise ValueError(f"rate_per_s must be > 0, got {self.rate_per_s}")

    @cached_property
    def send_ns(self) -> npt.NDArray[np.int64]:
        """When each is sent, from the beginning."""
        gaps_s = np.random.default_rng([self.seed, 0]).exponential(
            1 / self.rate_per_s, self.queries
        )
        return np.rint(gaps_s.cumsum() * 1e9).astype(np.int64)

    @cached_property
    def is_wide(self) -> npt.NDArray[np.bool_]:
        """Which of the two models each asks."""
        drawn = np.random.default_rng([self.seed, 1]).random(self.queries)
        return np.asarray(drawn < WIDE_SHARE)

    @property
    def seconds(self) -> float:
        """Until the last one is sent."""
        return float(self.send_ns[-1]) / 1e9

    def model(self, number: int) -> str:
        """That a query asks."""
        return WIDE if self.is_wide[number] else NARROW

    def way(self, number: int) -> str:
        """That it goes."""
        return WAYS[number % len(WAYS)]
