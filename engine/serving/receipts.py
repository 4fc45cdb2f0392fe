"""Calls of gRPC whose message is on its way: gRPC holds what has come of it, and nobody else knows.

Where the process holds all that it may, those calls are ended: else clients that send most of a
message, and then nothing, could fill the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from surplus.engine.errors import InputError, MemoryLimitError

Read = Callable[[], Awaitable[object]]


class Receipts:
    """Those that wait for a message, on one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Task[object], bool] = {}
        self._ended: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def only(self, read: Read) -> bytes:
        """The message of a call that has one.

        Parameters
        ----------
        read : callable
            Awaits the next message: what is no bytes is none.

        Raises
        ------
        InputError
            If it has none.
        MemoryLimitError
            If the server had no room any more while it came.
        """
        message = await self.next(read)
        if message is None:
            raise InputError("the call has no message")
        return message

    async def next(self, read: Read, *, is_stream: bool = False) -> bytes | None:
        """The next message; None behind the last. Raises MemoryLimitError as :meth:`only`.

        Parameters
        ----------
        read : callable
            As of :meth:`only`.
        is_stream : bool
            Whether the call may well be silent.
        """
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = is_stream
        try:
            message = await read()
        except asyncio.CancelledError:
            if task not in self._ended:
                raise
            task.uncancel()
            raise MemoryLimitError("the server's memory limit was reached; ask again") from None
        finally:
            del self._waiting[task]
            self._ended.discard(task)
        return message if isinstance(message, bytes) else None

    def end(self, *, streams: bool) -> None:
        """End those that wait; streams, which may wait without anything on its way, only if so."""
        for task, is_stream in self._waiting.items():
            if streams or not is_stream:
                self._ended.add(task)
                task.cancel()
