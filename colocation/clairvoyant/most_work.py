"""How much work a device can do before deadlines, if it may be interrupted at no cost.

References
----------
Glover: Maximum matching in a convex bipartite graph, Naval Research Logistics Quarterly 14, 1967:
giving each moment to the open task that closes first serves most. Tasks are adjacent to the
moments of an interval, so the most work of a set of tasks is a maximum flow, and therefore a
submodular function of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush


def most_work(
    opens: Sequence[int], closes: Sequence[int], works: Sequence[int], speed: int = 1
) -> int:
    """Most work done within windows; tasks that are not finished count for what was done.

    Parameters
    ----------
    opens, closes : sequence of int
        Window of each task; ``opens`` ascending.
    works : sequence of int
        Of each task, >= 0.
    speed : int
        Work a unit of time; >= 1.

    Returns
    -------
    int
        Exact: the time axis is stretched by ``speed`` instead of dividing works by it.
    """
    pending: list[tuple[int, int]] = []
    now = done = 0
    for opened, close, work in zip(opens, closes, works, strict=True):
        if pending:
            done += _work_until(pending, now, opened * speed)
        now = opened * speed
        if work:
            heappush(pending, (close * speed, work))
    last = max((close for close, _ in pending), default=now)
    return done + _work_until(pending, now, last)


def _work_until(pending: list[tuple[int, int]], now: int, end: int) -> int:
    """Work from now to ``end``, earliest close first; what is left stays pending."""
    done = 0
    while pending and now < end:
        close, work = heappop(pending)
        spent = min(work, close - now, end - now)
        if spent <= 0:
            continue
        now += spent
        done += spent
        if spent < work and close > now:
            heappush(pending, (close, work - spent))
    return done
