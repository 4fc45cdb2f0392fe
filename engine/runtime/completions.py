"""Awaiting runs: the core's finished runs wake an asyncio loop through one eventfd.

Lanes never take the GIL: they push to a lock-free queue and write the eventfd; the loop drains.
"""

from __future__ import annotations

import asyncio
import itertools
import weakref
from collections.abc import Callable

from surplus.engine import _core


class Completions:
    """The bridge between one event loop and the core. Not thread-safe: loop thread only.

    Keeps no reference to its loop, so that both go when the loop does.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._queue = _core.CompletionQueue()
        self._tags = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[_core.Run]] = {}
        loop.add_reader(self._queue.fd, self._drain)

    async def wait(self, submit: Callable[[_core.CompletionQueue, int], _core.Run]) -> _core.Run:
        """Submit a run and wait for it; cancelling the awaiting task cancels the run."""
        tag = next(self._tags)
        future: asyncio.Future[_core.Run] = asyncio.get_running_loop().create_future()
        self._waiting[tag] = future
        try:
            run = submit(self._queue, tag)
        except BaseException:
            del self._waiting[tag]
            raise
        try:
            return await future
        except asyncio.CancelledError:
            run.cancel()
            raise

    def _drain(self) -> None:
        for run in self._queue.drain():
            future = self._waiting.pop(run.tag)
            if not future.done():
                future.set_result(run)


_PER_LOOP: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Completions] = (
    weakref.WeakKeyDictionary()
)


def completions() -> Completions:
    """The running loop's bridge, made on first use."""
    loop = asyncio.get_running_loop()
    if loop not in _PER_LOOP:
        _PER_LOOP[loop] = Completions(loop)
    return _PER_LOOP[loop]
