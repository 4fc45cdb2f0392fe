"""What connections cost a server on which nothing is asked."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from bench.infrastructure.process_tree import tree_bytes, tree_cpu_s
from bench.serving.server_process import ServerProcess

CONNECTIONS = 1000
_SPARE_FILES = 200
_SETTLE_S, _IDLE_S = 1.0, 5.0
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS, _ACK = b"\0\0\0\4\0\0\0\0\0", b"\0\0\0\4\1\0\0\0\0"


@contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    """So many of HTTP/2, as a gRPC client leaves them between two calls.

    Raises
    ------
    OSError
        If the server does not take one, or does not speak HTTP/2 to it.
    """
    _allow_files(count + _SPARE_FILES)
    with ExitStack() as stack:
        for _ in range(count):
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            made.sendall(_PREFACE + _SETTINGS)
            if made.recv(1 << 16)[3:4] != b"\4":  # the server's own settings come first
                raise OSError(f"port {port} does not speak HTTP/2")
            made.sendall(_ACK)
        yield


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def idle_row(
    name: str, server: ServerProcess, connections: int = CONNECTIONS, idle_s: float = _IDLE_S
) -> dict[str, Any]:
    """Memory and time of a server while they are open, beside what it has without them."""
    pid, port = server.pid, server.port("grpc")
    before_bytes = tree_bytes(pid)
    with idle_connections(port, connections):
        time.sleep(_SETTLE_S)
        used_s = tree_cpu_s(pid)
        time.sleep(idle_s)
        share = (tree_cpu_s(pid) - used_s) / idle_s
        taken_bytes = tree_bytes(pid) - before_bytes
    return {
        "server": name,
        "memory at rest MB": server.at_rest_bytes / 1e6,
        "idle connections": connections,
        "their memory MB": taken_bytes / 1e6,
        "CPU s/s with them": share,
    }


def idle_rows(there: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of those that are servers of gRPC."""
    return [
        idle_row(name, server)
        for name, server in there.items()
        if isinstance(server, ServerProcess) and server.speaks("grpc")
    ]
