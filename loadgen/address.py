"""Addresses as people write them."""

from __future__ import annotations

from typing import NamedTuple


class HostPort(NamedTuple):
    """Of a TCP socket; ``str`` gives what an ``Authority`` or ``Host`` header says."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(url: str) -> HostPort:
    """Read ``host:port``, ``[::1]:port`` or ``http://host:port``.

    Raises
    ------
    ValueError
        Naming the text, if it has another form.
    """
    text = url.removeprefix("http://").removesuffix("/")
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    is_plain = "/" not in text and (":" not in host or text.startswith("["))
    if not (colon and host and is_plain and port.isascii() and port.isdigit()):
        raise ValueError(f"address {url!r} is not host:port")
    if not 0 < int(port) < 1 << 16:
        raise ValueError(f"address {url!r}: the port must be 1 to 65535")
    return HostPort(host, int(port))
