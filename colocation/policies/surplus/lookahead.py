"""What starting a batch now does to the others that wait: who would still be in time behind it.

Batches start in an order, each as soon as a device has its share, none before the one ahead of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

_FULL_PERCENT = 100


class WaitingBatch(NamedTuple):
    """A batch of the most urgent queries of a service.

    Parameters
    ----------
    deadline_ns : int
    value : float
        What is lost if it is late.
    share_percent : int
    took_ns : int
    """

    deadline_ns: int
    value: float
    share_percent: int
    took_ns: int


class Bin(NamedTuple):
    """A device: what is free, and what ends when: (time, share), as a heap."""

    free_percent: int
    ends: Sequence[tuple[int, int]]


def late_value(order: Iterable[WaitingBatch], bins: Sequence[Bin], now_ns: int) -> float:
    """Value of the batches that are late in an order; a late batch is not run."""
    free = [own.free_percent for own in bins]
    ends = [sorted(own.ends) for own in bins]
    lost = 0.0
    for task in order:
        at_ns, place = min(
            (_earliest(free[k], ends[k], task.share_percent, now_ns), k) for k in range(len(bins))
        )
        end_ns = at_ns + task.took_ns
        if end_ns > task.deadline_ns:
            lost += task.value
            continue
        now_ns = at_ns
        for k, heap in enumerate(ends):
            while heap and heap[0][0] <= now_ns:
                free[k] += heappop(heap)[1]
        free[place] -= task.share_percent
        heappush(ends[place], (end_ns, task.share_percent))
    return lost


def _earliest(free: int, ends: list[tuple[int, int]], share: int, now_ns: int) -> int:
    """When a device has a share; ``ends`` is sorted well enough, as a heap that is short."""
    if free >= share:
        return now_ns
    for end_ns, held in sorted(ends):
        free += held
        if free >= share:
            return max(now_ns, end_ns)
    return now_ns


def better_order(
    first: WaitingBatch, others: Sequence[WaitingBatch], bins: Sequence[Bin], now_ns: int
) -> WaitingBatch:
    """A batch, or the one with the earliest deadline if all are in time only when that goes first.

    So as long as all that wait can be in time by earliest deadline first, they stay so; once they
    cannot, what is worth most goes first.
    """
    rest = sorted(others)
    if not rest or rest[0].deadline_ns >= first.deadline_ns:
        return first
    if not late_value([first, *rest], bins, now_ns):
        return first
    return first if late_value(sorted([first, *rest]), bins, now_ns) else rest[0]
