"""Requests of HTTP that the native front end hands to Python, whole, on its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from surplus.engine import _core
from surplus.engine.serving.caller import Caller
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.http_answering import Answering
from surplus.engine.serving.http_body import too_large
from surplus.engine.serving.http_message import HttpRequest
from surplus.engine.serving.memory_share import MemoryShare


class NativeRequests:
    """Has requests answered, each in a task.

    Parameters
    ----------
    plane : DataPlane
        In whose memory they count.
    """

    def __init__(self, front: _core.Frontend, face: Answering, plane: DataPlane) -> None:
        self._front = front
        self._face = face
        self._plane = plane
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def begin(
        self,
        token: int,
        method: str,
        target: str,
        fields: Sequence[tuple[str, str]],
        body: bytes,
        caller: Caller,
    ) -> None:
        """Answer one."""
        task = asyncio.create_task(self._answer(token, method, target, fields, body, caller))
        self._tasks[token] = task

    def cancel(self, token: int) -> None:
        """Who asked does not wait any more."""
        if task := self._tasks.pop(token, None):
            task.cancel()

    async def close(self) -> None:
        """Cancel what is left, and wait for it."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(
        self,
        token: int,
        method: str,
        target: str,
        fields: Sequence[tuple[str, str]],
        body: bytes,
        caller: Caller,
    ) -> None:
        with MemoryShare(self._plane.memory) as share:
            request = _Request(method, target, dict(reversed(fields)), share, body, caller)
            answer = await self._face.answer(request)
            lines = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
            self._front.answer(token, answer.status, lines, answer.body)
        self._tasks.pop(token, None)


class _Request(HttpRequest):
    def __init__(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        share: MemoryShare,
        body: bytes,
        caller: Caller,
    ) -> None:
        super().__init__(method, target, headers, share, caller)
        self._body = body

    async def read(self, most_bytes: int) -> memoryview:
        if len(self._body) > most_bytes:
            raise too_large()
        self.share.take(len(self._body), "the request's body")
        return memoryview(self._body)
