"""Measures what the process holds beside its queries, and gives back what nobody uses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes

LOOK_S, OFTEN_S = 0.25, 0.05
"""How often, and how often from half of the limit on; a look costs some ten microseconds."""
LONG_FULL_NS = 1_000_000_000
"""So long after the limit is reached, whoever might cause it is ended, not only who does."""
FIRST_NS = 5_000_000_000
"""So long after queries have used more memory, it is given back: the next ones may want it."""
LONGEST_NS = 20_000_000_000
"""Where they did want it: each time it is doubled, up to that."""
NEAR_NS = 500_000_000
"""No sooner again, where the limit is near."""

_HALF, _NEAR = 0.5, 0.8
_WORTH_BYTES = 32 << 20
_CAME_BACK = 0.8
"""Of what was given back: queries wanted it again."""


class MemoryWatch:
    """Tells an account what others hold, and decides when memory is given back.

    Parameters
    ----------
    account : _core.MemoryAccount
        With the limit that holds.
    give_back : callable
        Returns free memory to the system; may take some milliseconds for each 100 MB.
    relieve : callable
        Called where the limit is reached, and that again and again: ends what takes memory that
        nobody counts; if told so, what only might.
    resident : callable
        Bytes that the process holds.
    clock_ns : callable
        Monotonic.
    """

    def __init__(
        self,
        account: _core.MemoryAccount,
        give_back: Callable[[], None],
        relieve: Callable[[bool], None],
        resident: Callable[[], int] = resident_bytes,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._account = account
        self._give_back = give_back
        self._relieve = relieve
        self._resident = resident
        self._clock_ns = clock_ns
        self._least = self._after_bytes = resident()
        self._wait_ns = FIRST_NS
        self._before_bytes = self._given_bytes = 0
        self._above_since_ns: int | None = None
        self._full_since_ns: int | None = None

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            resident = self.tell()
            if self.is_due():
                await asyncio.to_thread(self._give_back)
                self.given_back()
            often = resident > _HALF * self._account.limit_bytes > 0
            await asyncio.sleep(OFTEN_S if often else LOOK_S)

    def tell(self) -> int:
        """Tell the account what others hold now; returns what the process holds in all."""
        resident = self._resident()
        self._account.others_bytes = max(0, resident - self._account.held_bytes)
        if not resident >= self._account.limit_bytes > 0:
            self._full_since_ns = None
            return resident
        now_ns = self._clock_ns()
        if self._full_since_ns is None:
            self._full_since_ns = now_ns
        self._relieve(now_ns - self._full_since_ns >= LONG_FULL_NS)
        return resident

    def is_due(self) -> bool:
        """Whether memory should be given back now; look until it is."""
        now_ns, resident = self._clock_ns(), self._resident()
        if resident < self._least + _WORTH_BYTES:
            self._least, self._above_since_ns = min(resident, self._least), None
            return False
        if self._above_since_ns is None:
            self._above_since_ns = now_ns
        limit = self._account.limit_bytes
        near = bool(limit) and resident > _NEAR * limit
        if now_ns - self._above_since_ns < (NEAR_NS if near else self._wait_ns):
            return False
        came_back = 0 < _CAME_BACK * self._given_bytes <= resident - self._after_bytes
        self._wait_ns = min(2 * self._wait_ns, LONGEST_NS) if came_back else FIRST_NS
        self._before_bytes = resident
        return True

    def given_back(self) -> None:
        """What is left then beside queries is what the process needs, until it holds less.

        What they hold is free once they end, and then the core may keep it for others.
        """
        self._above_since_ns = None
        self._after_bytes = self.tell()
        self._least = self._account.others_bytes
        self._given_bytes = self._before_bytes - self._after_bytes
