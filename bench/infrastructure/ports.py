"""Ports of this machine."""

from __future__ import annotations

import socket


def free_port() -> int:
    """One that nobody has at this moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
