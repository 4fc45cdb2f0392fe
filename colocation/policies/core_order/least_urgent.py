"""Whose lane is lent: the twin of LeastUrgent in engine/core/devices/cpu/loan.hpp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surplus.colocation.policies.core_order.run_order import NOT_DUE, RunOrder

WORTH_LENDING_NS = 300_000
"""What takes less is waited for (CpuDevice::worth_lending_ns)."""

AFFORDABLE_PARTS = 4
"""What is due waits for that part of the time that it has left (LeastUrgent::affordable_parts)."""


class Computing(NamedTuple):
    """What a lane computes, and when that is predicted to end."""

    order: RunOrder
    end_ns: int


def least_urgent(waits: RunOrder, lanes: Sequence[Computing], now_ns: int) -> int | None:
    """Index of the lane whose computation goes last, and after what waits; None if none does.

    What is predicted to end within half of ``WORTH_LENDING_NS`` is not interrupted. Of those that
    differ by their arrival only it is the last one. None, too, if what waits can afford to wait for
    one of them.
    """
    found: tuple[int, int, int] | None = None
    for index, lane in enumerate(lanes):
        wait_ns = lane.end_ns - now_ns
        if wait_ns < WORTH_LENDING_NS // 2:
            continue
        if _can_afford(waits, lane.order, wait_ns, now_ns):
            return None
        order = lane.order.at(now_ns, 0)
        row = (order.rank, order.due_ns, index)
        if waits.preempts(order) and (found is None or row > found):
            found = row
    return None if found is None else found[2]


def _can_afford(waits: RunOrder, other: RunOrder, wait_ns: int, now_ns: int) -> bool:
    """What comes late anyway waits for all but lower priorities."""
    left_ns = waits.due_ns - now_ns
    if waits.stands == NOT_DUE:
        return False
    return waits.is_of_class(other) if left_ns <= 0 else wait_ns < left_ns // AFFORDABLE_PARTS
