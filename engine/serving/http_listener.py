"""Listens for HTTP on the server's event loop; the only file that runs aiohttp's server."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from engine.serving.data_plane import DataPlane
from engine.serving.descriptions import ServerIdentity
from engine.serving.http_face import HttpFace

_FLUSH_GRACE_S = 1.0  # for answers that are computed but not yet written


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

    async def stop(self) -> None:
        """Stop listening, let answers be written, close connections."""
        await self._runner.cleanup()


async def listen(
    plane: DataPlane, identity: ServerIdentity, address: tuple[str, int], max_body_bytes: int
) -> HttpListener:
    """Answer on an address; port 0 lets the system choose.

    Raises
    ------
    OSError
        If it cannot be bound.
    """
    runner = web.AppRunner(
        HttpFace(plane, identity).application(max_body_bytes),
        access_log=None,
        handle_signals=False,
        handler_cancellation=True,  # a client that goes away cancels its query
        shutdown_timeout=_FLUSH_GRACE_S,
    )
    await runner.setup()
    host, port = address
    try:
        # One server a port: a second one would get half of the queries in silence.
        await web.TCPSite(runner, host, port, reuse_port=False).start()
    except BaseException:
        await runner.cleanup()
        raise
    return HttpListener(runner.addresses[0][1], runner)
