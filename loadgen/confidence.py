"""How sure a figure of one run is: intervals that allow for queries that follow each other.

Latencies are not independent: a query waits for those before it, so a thousand of them say less
than a thousand. The run is therefore cut into blocks of equal time, long beside whatever makes
neighbours alike, and blocks are drawn with replacement instead of queries. Each draw gives a mean,
percentiles and a rate; the interval is what lies in their middle, a little more than 95 % of them
as there are few blocks. It is about *this* run's minutes: a server that is slower tomorrow is
outside of it. Of a queue's p99, the hardest of these figures, it holds the truth in 9 of 10 runs.

References
----------
Carlstein: The use of subseries values for estimating the variance of a general statistic from a
stationary sequence, Annals of Statistics 14, 1986 (blocks that do not overlap). Efron, Tibshirani:
An introduction to the bootstrap, 1993, chapter 13 (intervals by percentiles). Hesterberg: What
teachers should know about the bootstrap, The American Statistician 69, 2015 (how much wider).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.record import Records

LEVEL = 0.95
MOST_BLOCKS = 40
_LEAST_BLOCKS = 10
_QUERIES_PER_BLOCK = 10
_DRAWS = 1000
_BINS = 1024
_ALIKE = 0.4
"""Correlation of neighbouring blocks: with 40 of them, chance alone makes it less (95 %)."""

PERCENTS = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p99_9_ns": 99.9}

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Confidence:
    """Intervals of one run's figures.

    Parameters
    ----------
    level : float
        The share of intervals, over many runs, that hold the figure of an endless one.
    blocks : int
        Of equal time, that the run was cut into.
    intervals : dict of str to (float, float)
        By the names of ``Latency``'s fields, and ``throughput_per_s``. A percentile of which there
        are too few queries has none.
    drifts : bool
        Whether neighbouring blocks are alike: then the run is too short, or the server changed
        meanwhile, and the intervals are too narrow.
    """

    level: float
    blocks: int
    intervals: dict[str, Bounds]
    drifts: bool


def confidence_of(records: Records, seed: int = 0) -> Confidence | None:
    """Of the measured queries that succeeded; None where they are too few to say.

    Parameters
    ----------
    records : Records
    seed : int
        Of the draws.
    """
    rows = records.measured()
    rows = rows.where(rows.kind == 0)
    count = min(MOST_BLOCKS, len(rows) // _QUERIES_PER_BLOCK)
    if count < _LEAST_BLOCKS or rows.intended_ns.min() == rows.intended_ns.max():
        return None
    blocks = _Blocks(rows, count)
    if (blocks.counts == 0).mean() > 0.5:  # all came at once: time says nothing
        return None
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(count, np.full(count, 1 / count), _DRAWS).astype(np.float64)
    cumulated = blocks.cumulated(draws)
    middle = partial(_middle, blocks=count)
    intervals = {
        "mean_ns": middle(blocks.means(draws)),
        "throughput_per_s": middle(blocks.rates(draws)),
    }
    for name, percent in PERCENTS.items():
        if len(rows) * (1 - percent / 100) >= _QUERIES_PER_BLOCK:
            intervals[name] = middle(blocks.percentiles(cumulated, percent))
    return Confidence(LEVEL, count, intervals, blocks.correlation > _ALIKE)


class _Blocks:
    """A run's queries in blocks of equal time, each with a histogram of its latencies.

    Bins hold equally many queries of the whole run, finer towards the slowest: a percentile of a
    draw is then off by a thousandth of the queries beyond it, whatever their distribution.
    """

    def __init__(self, rows: Records, count: int) -> None:
        latencies = rows.done_ns - rows.intended_ns
        self._of_sent = _places(rows.intended_ns, count)
        self._of_done = _places(rows.done_ns, count)
        self._block_ns = (rows.done_ns.max() - rows.done_ns.min()) / count
        self.counts = np.bincount(self._of_sent, minlength=count)
        self._sums = np.bincount(self._of_sent, latencies.astype(np.float64), count)
        self._levels = _levels(latencies)
        bins = np.searchsorted(self._levels, latencies)
        flat = self._of_sent * len(self._levels) + bins
        counted = np.bincount(flat, minlength=count * len(self._levels))
        # In floating point, whose products of matrices are fast; all counts are exact in it.
        self._cumulated = np.cumsum(counted.reshape(count, -1), axis=1).astype(np.float64)

    def means(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each draw: how often it has each block, ``(draws, blocks)``."""
        result: NDArray[np.float64] = (draws @ self._sums) / np.maximum(1, draws @ self.counts)
        return result

    def rates(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each draw: queries a second, by when they had their answers."""
        answered = np.bincount(self._of_done, minlength=draws.shape[1])
        result: NDArray[np.float64] = draws @ answered / (draws.shape[1] * self._block_ns)
        return result * NS_PER_S

    def cumulated(self, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each draw, how many queries are in each bin or a lower one."""
        result: NDArray[np.float64] = draws @ self._cumulated
        return result

    def percentiles(self, cumulated: NDArray[np.float64], percent: float) -> NDArray[np.float64]:
        """Nearest-rank, of each draw."""
        ranks = np.ceil(cumulated[:, -1:] * percent / 100 - 1e-9)
        places = (cumulated < ranks).sum(axis=1)
        latencies = self._levels[np.minimum(places, len(self._levels) - 1)]
        return np.asarray(latencies, np.float64)

    @property
    def correlation(self) -> float:
        """Of the mean latencies of neighbouring blocks, -1 to 1."""
        there = self.counts > 0
        means = self._sums[there] / self.counts[there]
        centred = means - means.mean()
        total = float((centred**2).sum())
        return float((centred[1:] * centred[:-1]).sum()) / total if total else 0.0


def _places(times_ns: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The block of each time."""
    first, last = times_ns.min(), times_ns.max()
    places: NDArray[np.int64] = (times_ns - first) * count // max(1, last - first)
    return np.minimum(places, count - 1)


def _levels(latencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Upper edges of the bins, ascending; each is a latency that was seen."""
    ordered = np.sort(latencies)
    fine = 1 - np.geomspace(1, 1 / len(ordered), _BINS)
    shares = np.concatenate([np.linspace(0, 1, _BINS), fine])
    ranks = np.unique(np.rint(shares * (len(ordered) - 1)).astype(np.int64))
    levels: NDArray[np.int64] = np.unique(ordered[ranks])
    return levels


def _middle(values: NDArray[np.float64], blocks: int) -> Bounds:
    """So much of the draws as a normal variable's interval by Student's t would hold of it."""
    normal = NormalDist()
    z = normal.inv_cdf((1 + LEVEL) / 2)
    # Student's quantile by Cornish and Fisher's series.
    free = blocks - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    share = normal.cdf(t * sqrt(blocks / free))
    low, high = np.quantile(values, [1 - share, share])
    return float(low), float(high)
