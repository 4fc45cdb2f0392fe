"""The process's memory account while a server runs: its limit, and who watches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.runtime.free_memory import give_back
from surplus.engine.serving.memory_watch import MemoryWatch


class LimitedMemory:
    """Limits the process's account until it is closed. On a running event loop.

    Parameters
    ----------
    limit_bytes : int
        What the process may hold.
    relieve, resident : callable
        As of the watch.

    Attributes
    ----------
    account : _core.MemoryAccount
        The process's.
    """

    def __init__(
        self,
        limit_bytes: int,
        relieve: Callable[[bool], None],
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        self.account = _core.process_memory()
        self.account.limit_bytes = limit_bytes
        watch = MemoryWatch(self.account, give_back, relieve, resident)
        watch.tell()
        self._watching = asyncio.create_task(watch.run())

    async def close(self) -> None:
        """End the watch; the account has no limit any more."""
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching
        self.account.limit_bytes = 0
        self.account.others_bytes = 0
