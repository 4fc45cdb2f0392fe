"""How much work may go into a plan before the best one known by then is taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PlanningTime:
    """A limit on the planning thread's own CPU time: a busy machine does not shorten it.

    Parameters
    ----------
    ends_ns : int or None
        When it is over, on ``clock``; None is never.
    """

    ends_ns: int | None = None
    clock: Callable[[], int] = time.thread_time_ns

    @staticmethod
    def of(limit_s: float, clock: Callable[[], int] = time.thread_time_ns) -> PlanningTime:
        """So long from now."""
        return PlanningTime(clock() + round(limit_s * 1e9), clock)

    def is_over(self) -> bool:
        """Whether nothing more should be tried."""
        return self.ends_ns is not None and self.clock() >= self.ends_ns


UNLIMITED = PlanningTime()
