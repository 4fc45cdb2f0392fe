"""Listens for HTTP on the server's event loop; the only file that runs aiohttp's server."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass

from aiohttp import web

from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.http_body import BodyLimits
from surplus.engine.serving.http_connections import HttpConnections
from surplus.engine.serving.http_face import HttpFace

_FLUSH_GRACE_S = 1.0  # for answers that are computed but not yet written
_HANDSHAKE_S = 5.0
_WAITING = 128  # connections that the system keeps until they are accepted


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
        self._listening.close()
        await self._runner.cleanup()


async def listen(
    plane: DataPlane,
    identity: ServerIdentity,
    address: tuple[str, int],
    limits: BodyLimits,
    max_connections: int,
    tls: ssl.SSLContext | None = None,
) -> HttpListener:
    """Answer on an address; port 0 lets the system choose.

    Parameters
    ----------
    limits : BodyLimits
        Of bodies; heads, and connections without requests, have as long.
    max_connections : int
        Open at once; when more come, those that ask nothing are closed.
    tls : ssl.SSLContext or None
        What everything is encrypted with.

    Raises
    ------
    OSError
        If it cannot be bound.
    """
    connections = HttpConnections(max_connections, limits.most_s)
    runner = web.AppRunner(
        HttpFace(plane, identity, connections, limits).application(),
        access_log=None,
        handle_signals=False,
        handler_cancellation=True,  # a client that goes away cancels its query
        shutdown_timeout=_FLUSH_GRACE_S,
        keepalive_timeout=limits.most_s,
    )
    await runner.setup()
    try:
        # One server a port: a second one would get half of the queries in silence.
        server = runner.server
        assert server is not None
        listening = await asyncio.get_running_loop().create_server(
            lambda: connections.opened(server),
            *address,
            reuse_port=False,
            backlog=connections.at_a_time,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _HANDSHAKE_S,
        )
        for bound in listening.sockets:
            _let_wait(bound)
    except BaseException:
        await runner.cleanup()
        raise
    return HttpListener(listening.sockets[0].getsockname()[1], runner, listening)


def _let_wait(bound: socket.socket) -> None:
    """Let more wait than are accepted at a time: asyncio has one number for both."""
    with socket.socket(fileno=os.dup(bound.fileno())) as same:
        same.listen(_WAITING)
