"""How many HTTP connections are open at once: those that ask nothing make room for new ones.

aiohttp accepts what comes, until no file descriptor is left: then nobody is answered any more,
health checks included. As in nginx, whoever connects is heard, and the connections that have
said least are closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from surplus.engine.errors import QueueFullError

_AT_A_TIME = 128  # as asyncio and aiohttp have it
_HEAD_S = 60.0
_PART = 8  # of the connections is closed at once, and is free of queries


class HttpConnections:
    """Connections of one server, on its event loop.

    Parameters
    ----------
    most : int
        Open at once, at least 1; the event loop has accepted up to a quarter more before it
        hears of them.
    head_s : float
        Seconds that a new connection has for the head of its first request.
    """

    def __init__(self, most: int, head_s: float = _HEAD_S) -> None:
        self._most = most
        self._head_s = head_s
        # Opened, and silent so far: what ends them.
        self._silent: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        self._part = max(1, most // _PART)
        self._room = most
        # Those opened or asking since the last look, and what was left then; the latest is last.
        self._used: dict[web.RequestHandler, None] = {}
        self._answered: set[web.RequestHandler] = set()

    @property
    def at_a_time(self) -> int:
        """How many the event loop may accept before it opens them."""
        return min(_AT_A_TIME, self._part)

    def opened(self, server: web.Server) -> web.RequestHandler:
        """What handles a new connection; where there are too many, some others end.

        All are looked through at most once for every ``most / 8`` new ones.
        """
        if not self._room:
            self._room = max(1, self._make_room(server))
        self._room -= 1
        connection = server()
        self._used[connection] = None
        end = asyncio.get_running_loop().call_later(self._head_s, self._end_silent, connection)
        self._silent[connection] = end
        return connection

    def asked(self, request: web.BaseRequest) -> None:
        """Remember that the connection has sent the head of a request."""
        connection = request.protocol
        self._used.pop(connection, None)
        self._used[connection] = None
        if end := self._silent.pop(connection, None):
            end.cancel()

    @contextmanager
    def answering(self, request: web.BaseRequest) -> Iterator[None]:
        """Keep the connection open while its query is answered.

        Raises
        ------
        QueueFullError
            If queries would take the connections that are left for other requests.
        """
        if len(self._answered) >= max(1, self._most - self._part):
            raise QueueFullError(f"{len(self._answered)} of {self._most} connections have queries")
        self._answered.add(request.protocol)
        try:
            yield
        finally:
            self._answered.discard(request.protocol)

    def _end_silent(self, connection: web.RequestHandler) -> None:
        del self._silent[connection]
        if connection.transport:
            connection.transport.abort()

    def _make_room(self, server: web.Server) -> int:
        """Close the longest silent ones if there are too many; how many may be opened."""
        last_used = {connection: rank for rank, connection in enumerate(self._used)}
        connections = sorted(
            (c for c in server.connections if c.transport and not c.transport.is_closing()),
            key=lambda connection: last_used.get(connection, -1),
        )
        self._used = dict.fromkeys(connections)
        for gone in self._silent.keys() - self._used.keys():
            self._silent.pop(gone).cancel()
        room = self._most - len(connections)
        if room >= self._part:
            return room
        idle = [connection for connection in connections if connection not in self._answered]
        closed = idle[: self._part - room]
        for connection in closed:
            if connection.transport:
                connection.transport.abort()
        return room + len(closed)
