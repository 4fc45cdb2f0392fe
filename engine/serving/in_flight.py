"""The queries between admission and answer, so that a drain can wait for them or end them."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from surplus.engine.errors import UnavailableError


class InFlight:
    """Tasks that run a query, on one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._abandoned = False

    def __len__(self) -> int:
        return len(self._tasks)

    def enter(self) -> InFlightEntry:
        """Context manager around a query; the current task must not be in one already."""
        return InFlightEntry(self)

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no query is in flight; False if some still are after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def abandon(self) -> None:
        """Cancel every query; their callers get UnavailableError."""
        self._abandoned = True
        for task in self._tasks:
            task.cancel()

    def _add(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        self._idle.clear()

    def _remove(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._idle.set()


class InFlightEntry:
    """One query's stay among those in flight; tells a drain's cancellation from the caller's."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._task: asyncio.Task[Any] | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a query must run in an asyncio task")
        self._in_flight._add(self._task)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._in_flight._remove(self._task)
        if self._in_flight._abandoned and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            raise UnavailableError("the server shut down before the query finished") from None
