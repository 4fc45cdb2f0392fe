"""Which run of a queue is worth most: those before it are given up for a larger batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting

_SKIPPED = (*range(9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)
"""What is tried: one by one at first, then coarsely."""
LEAST_LOST = 0.03
"""Of the value of a query that is given up: it might have been served after all."""


class QueueWindow(NamedTuple):
    """Queries ``skipped <= k < skipped + size`` of a queue, and when the first of them is due."""

    skipped: int
    size: int
    took_ns: int
    deadline_ns: int


class Worth(NamedTuple):
    """What a window brings and costs.

    Parameters
    ----------
    value : float
        Of a query that is answered.
    profit : float
        Of a query that is given up: what it would bring above its price.
    per_ns : float
        Price of the share, for a nanosecond.
    """

    value: float
    profit: float
    per_ns: float


Times = Callable[[Sequence[Query]], Sequence[int]]
"""Queries -> times of the first 1, 2, ... of them together, up to the largest batch."""


def best_window(
    waiting: Waiting, times: Times, most: int, slowness: float, now_ns: int, worth: Worth
) -> QueueWindow | None:
    """The window with the largest value less price; None if none is in time.

    Parameters
    ----------
    times : callable
    most : int
        Queries of a batch, at most.
    slowness : float
        What times are multiplied by.

    References
    ----------
    Nexus (SOSP'19), section 6.3, slides such a window for the planned batch whatever it costs.
    """
    best: QueueWindow | None = None
    gained = 0.0
    queries = waiting.first(_SKIPPED[-1] + most)
    for skipped in _SKIPPED:
        rest = queries[skipped : skipped + most]
        if not rest:
            break
        row = times(rest)
        size = bisect_right(row, (rest[0].deadline_ns - now_ns) / slowness)
        if size == 0:
            continue
        took_ns = row[size - 1]
        lost = skipped * max(worth.profit, LEAST_LOST * worth.value)
        gain = size * worth.value - lost - took_ns * slowness * worth.per_ns
        if best is None or gain > gained:
            best, gained = QueueWindow(skipped, size, took_ns, rest[0].deadline_ns), gain
        if size == len(row):
            break
    return best
