"""Calls that the native front end hands to Python: each runs the handler that gRPC's own server
would run.

On one event loop. Messages are bytes; a handler's context offers what ours use of gRPC's.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from surplus.engine import _core
from surplus.engine.errors import ExecutionError, InputError
from surplus.engine.serving.caller import Caller
from surplus.engine.serving.grpc_status import status_of
from surplus.engine.serving.grpc_stream import failed_item
from surplus.engine.serving.native_context import Aborted, NativeContext
from surplus.engine.serving.native_requests import NativeRequests

ItemAnswer = Callable[[bytes, NativeContext], Awaitable[bytes]]

_CALL, _MESSAGE, _END, _ITEM, _FAILED, _ITEM_FAILED, _GONE = range(7)
_AT_A_TIME = 64  # events, between which others of the event loop are heard: two milliseconds
_CANCELLED = "the server has cancelled the query"
_ZLIB_WINDOWS = {"gzip": 31, "deflate": 15}


@dataclass(frozen=True)
class _CallDetails(grpc.HandlerCallDetails):  # type: ignore[misc]
    method: str
    invocation_metadata: tuple[tuple[str, str], ...] = ()


@dataclass
class _Call:
    """A call that Python answers."""

    token: int
    encoding: str
    caller: Caller
    trace_parent: str
    messages: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None


class NativeCalls:
    """Runs handlers for the calls of one front end.

    Parameters
    ----------
    handlers : sequence of grpc.GenericRpcHandler
        Asked in their order; a method that none has is UNIMPLEMENTED.
    answer_item : callable
        Answers one message of ModelStreamInfer, with one; raises nothing.
    most_bytes : int
        Of a message, once it is decompressed.
    requests : NativeRequests or None
        Answers what comes over HTTP, if anything does.
    """

    def __init__(
        self,
        front: _core.Frontend,
        handlers: Sequence[grpc.GenericRpcHandler],
        answer_item: ItemAnswer,
        most_bytes: int,
        requests: NativeRequests | None,
    ) -> None:
        self._front = front
        self._handlers = handlers
        self._answer_item = answer_item
        self._most_bytes = most_bytes
        self._requests = requests
        self._calls: dict[int, _Call] = {}
        self._items: dict[int, set[asyncio.Task[None]]] = {}

    def take_events(self) -> None:
        """Go on with some of what came since the last call."""
        for event in self._front.take_events(_AT_A_TIME):
            kind, token, number, path, encoding, content, packed, due_ns, request, who, parent = (
                event
            )
            caller = Caller() if who is None else Caller(who[0], tuple(who[1]))
            if request is not None and self._requests is not None:
                method, fields = request
                self._requests.begin(token, method, path, fields, content or b"", caller)
            elif kind == _CALL:
                self._begin(_Call(token, encoding, caller, parent), path, due_ns)
            elif kind == _ITEM:
                context = NativeContext(lambda message: None, due_ns, None, caller, parent)
                self._begin_item(token, number, content or b"", encoding if packed else "", context)
            elif kind == _FAILED:
                self._end(token, *_status(ExecutionError(path)))
            elif kind == _ITEM_FAILED:
                failed = failed_item(ExecutionError(" ".join(path.split())), encoding)
                self._front.answer_item(token, number, failed)
            elif kind == _GONE:
                self._cancel(token)
            else:
                self._take(token, content if kind == _MESSAGE else None, packed)

    async def close(self) -> None:
        """Cancel what is left, and wait for it."""
        tasks = [call.task for call in self._calls.values() if call.task is not None]
        tasks += [task for items in self._items.values() for task in items]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._requests is not None:
            await self._requests.close()

    def _begin(self, call: _Call, path: str, due_ns: int) -> None:
        details = _CallDetails(path)
        found = (handler.service(details) for handler in self._handlers)
        handler = next((one for one in found if one is not None), None)
        if handler is None:
            self._end(call.token, grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            return
        self._calls[call.token] = call
        call.task = asyncio.create_task(self._answer(call, handler, due_ns))

    def _take(self, token: int, content: bytes | None, packed: bool) -> None:
        call = self._calls.get(token)
        if call is None:
            return
        try:
            message = self._unpacked(content, call.encoding) if content and packed else content
        except (Exception, Aborted) as error:
            if call.task is not None:
                call.task.cancel()
            self._calls.pop(token)
            self._end(token, *_status(error))
            return
        call.messages.put_nowait(message)

    async def _answer(self, call: _Call, handler: Any, due_ns: int) -> None:
        context = NativeContext(
            lambda message: self._front.send(call.token, message),
            due_ns,
            call.messages,
            call.caller,
            call.trace_parent,
        )
        try:
            await _run(handler, call.messages, context)
            code, details = grpc.StatusCode.OK, ""
        except asyncio.CancelledError:
            # Of a call that is gone nobody hears; others would wait for ever.
            code, details = grpc.StatusCode.CANCELLED, _CANCELLED
        except (Exception, Aborted) as error:
            code, details = _status(error)
        finally:
            context.done()
        if self._calls.pop(call.token, None) is not None:
            self._end(call.token, code, details)

    def _begin_item(
        self, token: int, number: int, content: bytes, encoding: str, context: NativeContext
    ) -> None:
        async def answer() -> None:
            try:
                data = self._unpacked(content, encoding) if encoding else content
            except (Exception, Aborted) as error:
                answered = failed_item(InputError(str(error)))
            else:
                answered = await self._answer_item(data, context)
            self._front.answer_item(token, number, answered)

        tasks = self._items.setdefault(token, set())
        task = asyncio.create_task(answer())
        tasks.add(task)
        task.add_done_callback(lambda done: self._item_done(token, number, done))

    def _item_done(self, token: int, number: int, task: asyncio.Task[None]) -> None:
        tasks = self._items.get(token)
        if tasks is None:  # the stream is gone
            return
        if task.cancelled():
            failed = failed_item(ExecutionError(_CANCELLED))
            self._front.answer_item(token, number, failed)
        tasks.discard(task)
        if not tasks:
            self._items.pop(token)

    def _cancel(self, token: int) -> None:
        call = self._calls.pop(token, None)
        if call is not None and call.task is not None:
            call.task.cancel()
        for task in self._items.pop(token, ()):
            task.cancel()
        if self._requests is not None:
            self._requests.cancel(token)

    def _end(self, token: int, code: grpc.StatusCode, details: str = "") -> None:
        self._front.end(token, code.value[0], details)

    def _unpacked(self, data: bytes, encoding: str) -> bytes:
        """A compressed message; never more of it than is allowed."""
        if encoding not in _ZLIB_WINDOWS:
            raise Aborted(
                grpc.StatusCode.UNIMPLEMENTED, f"messages compressed by {encoding!r} are not taken"
            )
        unpack = zlib.decompressobj(_ZLIB_WINDOWS[encoding])
        try:
            content = unpack.decompress(data, self._most_bytes)
        except zlib.error as error:
            raise InputError(f"the message is not compressed by {encoding}: {error}") from None
        if unpack.unconsumed_tail or not unpack.eof:
            raise Aborted(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"the message is larger than the limit, {self._most_bytes} bytes, or cut off",
            )
        return content


async def _run(handler: Any, messages: asyncio.Queue[bytes | None], context: NativeContext) -> None:
    """Answer one call by gRPC's own kind of handler."""

    async def requests() -> AsyncIterator[Any]:
        while (message := await messages.get()) is not None:
            yield _read(handler, message)

    request: Any = requests()
    if not handler.request_streaming:
        message = await messages.get()
        if message is None:
            await context.abort(grpc.StatusCode.INTERNAL, "the call has no message")
        request = _read(handler, message)
    answers = (
        (handler.unary_unary, handler.unary_stream),
        (handler.stream_unary, handler.stream_stream),
    )[bool(handler.request_streaming)][bool(handler.response_streaming)](request, context)
    if hasattr(answers, "__aiter__"):
        async for answer in answers:
            await context.write(_written(handler, answer))
        return
    answer = await answers
    if answer is not None:
        await context.write(_written(handler, answer))


def _read(handler: Any, message: Any) -> Any:
    read = handler.request_deserializer
    return message if read is None else read(message)


def _written(handler: Any, answer: Any) -> bytes:
    write = handler.response_serializer
    written: bytes = answer if write is None else write(answer)
    return written


def _status(error: BaseException) -> tuple[grpc.StatusCode, str]:
    if isinstance(error, Aborted):
        return error.code, error.details
    assert isinstance(error, Exception), "of a handler"
    return status_of(error)
