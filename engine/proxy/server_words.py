"""Servers as people write them on a command line."""

from __future__ import annotations

from surplus.loadgen.address import HostPort, parse_address
from surplus.routing.resolver import ReplicaAddress


def parse_server(words: str) -> ReplicaAddress:
    """Read ``host:port`` of gRPC, or ``host:port+port`` with the port of REST behind it.

    Raises
    ------
    ValueError
        Naming the words, if they have another form.
    """
    grpc, plus, http_port = words.partition("+")
    host = parse_address(grpc).host
    if not plus:
        return ReplicaAddress(grpc)
    if not (http_port.isascii() and http_port.isdigit() and 0 < int(http_port) < 1 << 16):
        raise ValueError(f"server {words!r} is not host:port+port, with ports of 1 to 65535")
    return ReplicaAddress(grpc, str(HostPort(host, int(http_port))))
