"""Where time comes from: the machine's monotonic clock, or a simulator's."""

from __future__ import annotations

import time
from typing import Protocol

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


class Clock(Protocol):
    """Integer nanoseconds since an arbitrary instant, never going back."""

    def now_ns(self) -> int:
        """Read the clock."""
        ...


class WallClock:
    """Monotonic time since this object was made; what a live driver reads."""

    def __init__(self) -> None:
        self._origin_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        """Nanoseconds since the clock was made."""
        return time.monotonic_ns() - self._origin_ns


class VirtualClock:
    """Time that stands still until somebody moves it on."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        """Nanoseconds since the start of the simulation."""
        return self._now_ns

    def advance_to(self, when_ns: int) -> None:
        """Move to a later instant, or stay.

        Raises
        ------
        ValueError
            If that instant is past.
        """
        if when_ns < self._now_ns:
            raise ValueError(f"the clock is at {self._now_ns} ns, past {when_ns} ns")
        self._now_ns = when_ns
