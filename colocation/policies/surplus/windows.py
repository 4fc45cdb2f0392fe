"""Which run of a queue is worth most: those before it are given up for a larger batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from surplus.colocation.frame.state import Waiting

_MOST_SKIPPED = 48


class Window(NamedTuple):
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


def best_window(
    waiting: Waiting, row: Sequence[int], slowness: float, now_ns: int, worth: Worth
) -> Window | None:
    """The window of alike queries with the largest value less price; None if none is in time.

    Parameters
    ----------
    row : sequence of int
        Times of 1, 2, ... queries; its length is the largest batch.
    slowness : float
        What these times are multiplied by.

    References
    ----------
    Nexus (SOSP'19), section 6.3, slides such a window for the planned batch whatever it costs.
    """
    best: Window | None = None
    most = 0.0
    queued = len(waiting)
    for skipped, query in enumerate(islice(waiting, _MOST_SKIPPED)):
        limit_ns = (query.deadline_ns - now_ns) / slowness
        count = bisect_right(row, limit_ns, 0, min(len(row), queued - skipped))
        if count == 0:
            continue
        took_ns = row[count - 1]
        gain = count * worth.value - skipped * worth.profit - took_ns * slowness * worth.per_ns
        if best is None or gain > most:
            best, most = Window(skipped, count, took_ns, query.deadline_ns), gain
        if count == min(len(row), queued - skipped):
            break
    return best
