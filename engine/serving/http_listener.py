"""Listens for HTTP on the server's event loop; the only file that runs aiohttp's server."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from aiohttp import web

from surplus.engine.errors import InputError
from surplus.engine.serving.caller import Caller, names_in
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.http_answering import Answering
from surplus.engine.serving.http_body import too_large
from surplus.engine.serving.http_connections import HttpConnections
from surplus.engine.serving.http_message import HttpError, HttpRequest
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.server_params import ServerParams

_FLUSH_GRACE_S = 1.0  # for answers that are computed but not yet written
_WAITING = 128  # connections that the system keeps until they are accepted
_GRAIN_BYTES = 1 << 20
"""The account is asked once for so much."""
_TOO_MANY = 429
_WHO = 401
_ROUNDS = 4  # of the event loop, from a connection that is accepted to one that is open


@dataclass(frozen=True)
class HttpListener:
    """A socket that answers.

    Parameters
    ----------
    port : int
        The one that was bound.
    """

    port: int
    _runner: web.AppRunner
    _listening: asyncio.Server

    async def stop(self) -> None:
        """Stop listening, let answers be written, close connections."""
        loop = asyncio.get_running_loop()
        for bound in self._listening.sockets:
            loop.remove_reader(bound.fileno())
        # Who was accepted last is opened in the next rounds: asyncio would fail to, once it has
        # stopped listening, and leave the socket to the garbage collector.
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        self._listening.close()
        await self._runner.cleanup()


async def listen(
    plane: DataPlane, face: Answering, params: ServerParams, tls: ssl.SSLContext | None = None
) -> HttpListener:
    """Answer on the HTTP port; 0 lets the system choose.

    Parameters
    ----------
    tls : ssl.SSLContext or None
        What everything is encrypted with.

    Raises
    ------
    OSError
        If it cannot be bound.
    """
    most_s = params.max_body_s  # of heads, and of connections without requests, too
    connections = HttpConnections(params.max_connections, most_s)
    application = web.Application()
    driver = _Driver(plane, face, connections, most_s)
    application.router.add_route("*", "/{path:.*}", driver.answer)
    runner = web.AppRunner(
        application,
        access_log=None,
        handle_signals=False,
        handler_cancellation=True,  # a client that goes away cancels its query
        shutdown_timeout=_FLUSH_GRACE_S,
        keepalive_timeout=most_s,
        auto_decompress=False,
    )
    await runner.setup()
    try:
        # One server a port: a second one would get half of the queries in silence.
        server = runner.server
        assert server is not None
        listening = await asyncio.get_running_loop().create_server(
            lambda: connections.opened(server),
            params.host,
            params.http_port,
            reuse_port=False,
            backlog=connections.at_a_time,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else params.max_handshake_s,
        )
        for bound in listening.sockets:
            _let_wait(bound)
    except BaseException:
        await runner.cleanup()
        raise
    return HttpListener(listening.sockets[0].getsockname()[1], runner, listening)


class _Driver:
    """Has requests of aiohttp answered."""

    def __init__(
        self, plane: DataPlane, face: Answering, connections: HttpConnections, most_s: float
    ) -> None:
        self._plane = plane
        self._face = face
        self._connections = connections
        self._most_s = most_s

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self._connections.asked(request)
        with MemoryShare(self._plane.memory) as share, ExitStack() as query:

            def on_query() -> None:
                query.enter_context(self._connections.answering(request))

            answer = await self._face.answer(_Request(request, share, self._most_s, on_query))
            response = web.Response(
                status=answer.status, body=answer.body, headers=dict(answer.headers)
            )
            if answer.status == _TOO_MANY:
                response.headers["Retry-After"] = "1"
            if answer.status == _WHO:
                response.headers["WWW-Authenticate"] = "Bearer"
            await response.prepare(request)
            await response.write_eof()  # here, so that it counts until it is written
            return response


class _Request(HttpRequest):
    def __init__(
        self,
        request: web.Request,
        share: MemoryShare,
        most_s: float,
        on_query: Callable[[], None],
    ) -> None:
        headers: dict[str, str] = {}
        for name, value in request.headers.items():
            headers.setdefault(name.lower(), value)
        shown = request.get_extra_info("peercert")
        caller = Caller(headers.get("authorization", ""), names_in(shown))
        super().__init__(request.method, request.raw_path, headers, share, caller)
        self._request = request
        self._most_s = most_s
        self._on_query = on_query

    def begin_query(self) -> None:
        self._on_query()

    async def read(self, most_bytes: int) -> memoryview:
        if (self._request.content_length or 0) > most_bytes:
            raise too_large()
        try:
            async with asyncio.timeout(self._most_s):
                return await self._read(most_bytes)
        except TimeoutError:
            raise HttpError(408, "Request Timeout") from None
        except web.RequestPayloadError as error:  # chunks that are none
            raise InputError(f"malformed body: {error}") from None

    async def _read(self, most_bytes: int) -> memoryview:
        body = bytearray()
        taken = 0
        while chunk := await self._request.content.readany():
            size = len(body) + len(chunk)
            if size > most_bytes:
                raise too_large()
            if size > taken:
                more = max(size - taken, _GRAIN_BYTES if taken else 0)
                self.share.take(more, "the request's body")
                taken += more
            body += chunk
        return memoryview(body).toreadonly()


def _let_wait(bound: socket.socket) -> None:
    """Let more wait than are accepted at a time: asyncio has one number for both."""
    with socket.socket(fileno=os.dup(bound.fileno())) as same:
        same.listen(_WAITING)
