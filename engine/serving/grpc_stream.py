"""ModelStreamInfer: many queries over one call, answered in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from google.protobuf.message import DecodeError

from surplus.engine import _core
from surplus.engine.errors import InputError
from surplus.engine.serving.grpc_status import status_of
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.wire import embedded, split_infer_request

_StreamResponse = message_type("ModelStreamInferResponse")
_InferResponse = message_type("ModelInferResponse")
_FINAL: bytes = _InferResponse(
    parameters={"triton_final_response": {"bool_param": True}}
).SerializeToString()
"""What Triton says beside an answer in a stream, as a part of a message."""
_MOST_AHEAD = 64
"""Queries of a stream that run at a time; further ones wait with the client."""
_MOST_READ_BYTES = 1 << 20
"""Of a query that failed, to find its id once more."""


async def answer_in_order(
    requests: AsyncIterator[bytes],
    answer: Callable[[bytes, MemoryShare], Coroutine[Any, Any, bytes]],
    write: Callable[[bytes], Awaitable[None]],
    memory: _core.MemoryAccount,
) -> None:
    """Answer the requests of a stream side by side, and write the answers in their order.

    When the client goes away, what is being answered is cancelled.

    Parameters
    ----------
    answer : callable
        Raises nothing; takes what it needs from its share, which lasts until it is written.
    memory : _core.MemoryAccount
        What the shares are of.
    """
    ahead = asyncio.Semaphore(_MOST_AHEAD)
    pending: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue()
    shares: deque[MemoryShare] = deque()

    async def write_all() -> None:
        while (task := await pending.get()) is not None:
            await write(await task)
            shares.popleft().give_all()
            ahead.release()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(write_all())
            async for data in requests:
                await ahead.acquire()
                shares.append(MemoryShare(memory))
                pending.put_nowait(group.create_task(answer(data, shares[-1])))
            pending.put_nowait(None)
    finally:
        for share in shares:
            share.give_all()


def stream_answer(response: bytes) -> bytes:
    """A serialised ``ModelInferResponse`` as an answer in a stream: the last to its query."""
    return embedded(_StreamResponse.INFER_RESPONSE_FIELD_NUMBER, response, _FINAL)


def stream_failure(request: bytes, error: Exception) -> bytes:
    """What is wrong with one query of a stream."""
    return failed_item(error, _query_id(request))


def failed_item(error: Exception, query_id: str = "") -> bytes:
    """The same, of a query of which no more than its id is known."""
    _, details = status_of(error)
    failed = _InferResponse(id=query_id)
    data: bytes = _StreamResponse(error_message=details, infer_response=failed).SerializeToString()
    return data


def _query_id(request: bytes) -> str:
    if len(request) > _MOST_READ_BYTES:  # to parse it may be what there was no memory for
        return ""
    try:
        query_id: str = split_infer_request(request)[0].id
    except (DecodeError, InputError):
        return ""
    return query_id
