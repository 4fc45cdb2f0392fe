"""Calls whose messages do not come: ended where the server has no room, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import grpc
import pytest

from surplus.engine.errors import InputError, MemoryLimitError
from surplus.engine.serving.receipts import Receipts


def _messages(*messages: bytes) -> Callable[[], Awaitable[object]]:
    """Reads them, and then gRPC's end."""
    left = iter(messages)

    async def read() -> object:
        return next(left, grpc.aio.EOF)

    return read


async def _waiting(receipts: Receipts, *, is_stream: bool) -> asyncio.Task[bytes | None]:
    """A call that waits for a message."""
    never = asyncio.Event()
    task = asyncio.create_task(receipts.next(never.wait, is_stream=is_stream))
    await asyncio.sleep(0)
    return task


def test_messages_come_one_by_one() -> None:
    async def ask() -> None:
        receipts, read = Receipts(), _messages(b"a", b"b")
        assert [await receipts.next(read) for _ in range(3)] == [b"a", b"b", None]
        assert await receipts.only(_messages(b"c")) == b"c"
        with pytest.raises(InputError, match="no message"):
            await receipts.only(_messages())
        assert len(receipts) == 0

    asyncio.run(ask())


@pytest.mark.parametrize("streams", [False, True])
def test_those_that_wait_are_ended(streams: bool) -> None:
    async def ask() -> None:
        receipts = Receipts()
        call = await _waiting(receipts, is_stream=False)
        stream = await _waiting(receipts, is_stream=True)
        assert len(receipts) == 2
        receipts.end(streams=streams)
        with pytest.raises(MemoryLimitError):
            await call
        assert call.cancelling() == 0
        assert len(receipts) == (0 if streams else 1)
        stream.cancel()
        with pytest.raises(MemoryLimitError if streams else asyncio.CancelledError):
            await stream
        assert len(receipts) == 0

    asyncio.run(ask())


def test_a_client_that_goes_away_is_no_matter_of_memory() -> None:
    async def ask() -> None:
        receipts = Receipts()
        call = await _waiting(receipts, is_stream=False)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        receipts.end(streams=True)

    asyncio.run(ask())
