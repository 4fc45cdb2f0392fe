"""Histograms of how long queries took, as the core counts them; to be added up and read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from surplus.engine import _core

BOUNDS_US = tuple(_core.QueryTimes.bounds_us())
"""Upper bounds of all buckets but the last: two an octave from 16 us to 67 s."""


@dataclass(frozen=True)
class Histogram:
    """Counts of durations.

    Parameters
    ----------
    counts : tuple of int
        By bucket, of which the last has no bound.
    total_ns : int
        Of all of them.
    """

    counts: tuple[int, ...] = (0,) * (len(BOUNDS_US) + 1)
    total_ns: int = 0

    @property
    def count(self) -> int:
        """How many."""
        return sum(self.counts)

    @property
    def total_s(self) -> float:
        """All of them together, in seconds."""
        return self.total_ns / 1e9

    def percentile_s(self, percent: float) -> float | None:
        """The bound of the bucket that has so many percent; None without any, inf in the last."""
        left = math.ceil(self.count * percent / 100)
        if not left:
            return None
        for count, bound_us in zip(self.counts, BOUNDS_US, strict=False):
            left -= count
            if left <= 0:
                return bound_us / 1e6
        return math.inf

    def __add__(self, other: Histogram) -> Histogram:
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return Histogram(counts, self.total_ns + other.total_ns)


@dataclass(frozen=True)
class QueryHistograms:
    """Of a model's queries that were answered well: from receipt to answer, and parts of it."""

    whole: Histogram = Histogram()
    queue: Histogram = Histogram()
    compute: Histogram = Histogram()

    @classmethod
    def of(cls, *parts: Sequence[tuple[Sequence[int], int]]) -> QueryHistograms:
        """Of what ``_core.QueryTimes.rows`` gives, of all together."""
        asked = (rows for rows in parts if any(rows[0][0]))  # most models of many are not
        found = [cls(*(Histogram(tuple(row), total) for row, total in rows)) for rows in asked]
        return reduce(QueryHistograms.__add__, found) if found else cls()

    def __add__(self, other: QueryHistograms) -> QueryHistograms:
        return QueryHistograms(
            self.whole + other.whole, self.queue + other.queue, self.compute + other.compute
        )
