"""What a handler of gRPC's finds of its call, where the native front end has it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import grpc

from surplus.engine.serving.caller import Caller


class Aborted(BaseException):
    """A handler has said with which status its call ends; no error of a handler's own."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class NativeContext:
    """What a handler may ask of its call, and say to it: gRPC's names."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        deadline_ns: int,
        messages: asyncio.Queue[bytes | None] | None = None,
        caller: Caller | None = None,
        trace_parent: str = "",
    ) -> None:
        self._send = send
        self._deadline_ns = deadline_ns
        self._messages = messages
        self._caller = caller or Caller()
        self._trace_parent = trace_parent
        self._when_done: list[Callable[[object], object]] = []

    async def read(self) -> object:
        """The next message of the call; ``grpc.aio.EOF`` behind the last."""
        message = None if self._messages is None else await self._messages.get()
        return grpc.aio.EOF if message is None else message

    def add_done_callback(self, call: Callable[[object], object]) -> None:
        """Have it called with this once the call is over."""
        self._when_done.append(call)

    def done(self) -> None:
        """The call is over."""
        for call in self._when_done:
            call(self)

    def time_remaining(self) -> float | None:
        """Seconds until the client's deadline; None if it set none."""
        if not self._deadline_ns:
            return None
        return max(0.0, (self._deadline_ns - time.monotonic_ns()) / 1e9)

    async def abort(self, code: grpc.StatusCode, details: str = "") -> None:
        """End the call; raises."""
        raise Aborted(code, details)

    async def write(self, message: bytes) -> None:
        """Send a message of a stream."""
        self._send(message)

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """Who calls, and W3C's trace parent; what else clients say beside is not handed on."""
        said = ("authorization", self._caller.authorization), ("traceparent", self._trace_parent)
        return tuple((name, value) for name, value in said if value)

    def auth_context(self) -> dict[str, list[bytes]]:
        """Names of the certificate that the client has shown."""
        names = [name.encode() for name in self._caller.certificate_names]
        return {"x509_subject_alternative_name": names} if names else {}
