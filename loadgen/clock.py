"""Clocks, and an event loop whose timers are precise enough to send on time."""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Protocol

NS_PER_S = 1_000_000_000


class LoadClock(Protocol):
    """Where a loop reads the time and waits; tests inject one that never sleeps."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary instant, never going back."""
        ...

    async def sleep_until_ns(self, when_ns: int) -> None:
        """Return at ``when_ns`` or just after it; always give other coroutines a turn."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    def now_ns(self) -> int:
        """Nanoseconds of ``time.monotonic_ns``."""
        return time.monotonic_ns()

    async def sleep_until_ns(self, when_ns: int) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(max(0, when_ns - time.monotonic_ns()) / NS_PER_S)


def precise_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop with timers of microseconds.

    The default loop waits in epoll, whose timeouts asyncio rounds up to whole milliseconds:
    every query of an open loop would leave up to one millisecond late.
    """
    return asyncio.SelectorEventLoop(selectors.SelectSelector())
