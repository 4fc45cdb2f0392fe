"""Queries that were too late, and how sure their share is.

References
----------
Wilson: Probable inference, the law of succession, and statistical inference, JASA 22, 1927 (the
interval). Kish: Survey sampling, 1965 (queries of a block are alike, so that n of them count as
n / design effect).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from surplus.loadgen.record import Records

_BLOCKS = 20


@dataclass(frozen=True)
class Misses:
    """Of one run, or of several at the same rate.

    Parameters
    ----------
    queries, missed : int
        All measured queries, and those that failed or took longer than the target.
    design_effect : float
        How many queries say as much as one independent query would; >= 1.
    """

    queries: int
    missed: int
    design_effect: float = 1.0

    @property
    def share(self) -> float:
        """Of the queries, in [0, 1]; all of none are missed."""
        return self.missed / self.queries if self.queries else 1.0

    def __add__(self, other: Misses) -> Misses:
        """Of both runs; the design effect by their queries."""
        queries = self.queries + other.queries
        effects = self.design_effect * self.queries + other.design_effect * other.queries
        effect = effects / queries if queries else 1.0
        return Misses(queries, self.missed + other.missed, effect)

    def interval(self, level: float) -> tuple[float, float]:
        """Wilson's interval of the share."""
        if not self.queries:
            return 0.0, 1.0
        z = NormalDist().inv_cdf((1 + level) / 2)
        n = self.queries / self.design_effect
        centre = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        spread = self.share * (1 - self.share) / n + z * z / (4 * n * n)
        half = z * float(np.sqrt(spread)) / (1 + z * z / n)
        return max(0.0, centre - half), min(1.0, centre + half)


def misses_of(records: Records, target_ns: int) -> Misses:
    """Count those of a run's measured queries that failed or took longer than the target."""
    rows = records.measured()
    is_missed = (rows.kind != 0) | (rows.done_ns - rows.intended_ns > target_ns)
    return Misses(len(rows), int(is_missed.sum()), _design_effect(is_missed))


def _design_effect(is_missed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Variance of the share between blocks of equal count, over that of independent queries."""
    size = len(is_missed) // _BLOCKS
    share = is_missed.mean() if len(is_missed) else 0.0
    if size < 2 or not 0 < share < 1:
        return 1.0
    shares = is_missed[: size * _BLOCKS].reshape(_BLOCKS, size).mean(axis=1)
    return max(1.0, float(shares.var(ddof=1)) / (share * (1 - share) / size))
