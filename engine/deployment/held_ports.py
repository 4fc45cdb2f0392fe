"""Ports of a server that nobody else is given while it is started again.

A port that the system has chosen is one that it may choose for any connection of anybody, as soon
as no socket is bound there. So sockets stay bound that never listen: clients are refused at once,
and a server may listen beside them (``SO_REUSEADDR``, as our servers set it).
"""

from __future__ import annotations

import socket
from typing import Self


class HeldPorts:
    """Of one host, chosen by the system.

    Parameters
    ----------
    host : str
        An address or a name of this machine.
    count : int

    Raises
    ------
    OSError
        If nothing can be bound there.
    """

    def __init__(self, host: str, count: int) -> None:
        self._sockets: list[socket.socket] = []
        try:
            for _ in range(count):
                self._sockets.append(_bound(host))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ports(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(one.getsockname()[1] for one in self._sockets)

    def close(self) -> None:
        """Let them go."""
        for one in self._sockets:
            one.close()


def _bound(host: str) -> socket.socket:
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
