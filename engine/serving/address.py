"""An address to listen on: whether the system lets us, and why not."""

from __future__ import annotations

import socket
from typing import Any

from surplus.engine.errors import ConfigError

_BACKLOG = 1024


def address_text(host: str, port: int) -> str:
    """``HOST:PORT``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_address(host: str, port: int) -> None:
    """Bind it and let it go again; looks up a name, which may block.

    gRPC says in its own log why it could not, and only that it could not to its caller.

    Raises
    ------
    ConfigError
        If nothing that the name stands for can be bound, with the system's reason.
    """
    for made in listening_sockets(host, port):
        made.close()


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on all that the name stands for, on one port; at least one.

    Raises
    ------
    ConfigError
        If nothing that the name stands for can be bound, with the system's reason.
    """
    made: list[socket.socket] = []
    refused: OSError | None = None
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            wanted = made[0].getsockname()[1] if made else address[1]
            try:
                made.append(_listening(family, kind, protocol, (address[0], wanted, *address[2:])))
            except OSError as error:
                refused = error
    except (OSError, UnicodeError) as error:  # the latter for what can be no name
        why = error.strerror if isinstance(error, OSError) else error
        raise cannot_listen(host, port, str(why)) from error
    if not made:
        raise cannot_listen(host, port, str(refused and refused.strerror)) from refused
    return made


def _listening(family: int, kind: int, protocol: int, address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def cannot_listen(host: str, port: int, why: str) -> ConfigError:
    """What to tell who asked for an address."""
    return ConfigError(f"cannot listen on {address_text(host, port)}: {why}")
