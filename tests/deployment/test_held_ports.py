"""Ports that stay a server's while it is away: refused to clients, given to nobody else."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from surplus.engine.deployment.held_ports import HeldPorts
from surplus.engine.serving.address import listening_sockets

HOST = "127.0.0.1"


def test_a_server_listens_there_again_and_again() -> None:
    with HeldPorts(HOST, 3) as held:
        assert len(set(held.ports)) == 3
        for port in (*held.ports, held.ports[0]):
            (server,) = listening_sockets(HOST, port)
            with closing(server):
                socket.create_connection((HOST, port)).close()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((HOST, port))


def test_nobody_else_is_given_them() -> None:
    with HeldPorts(HOST, 1) as held:
        (port,) = held.ports
        with closing(socket.socket()) as other, pytest.raises(OSError, match="in use"):
            other.bind((HOST, port))
        (server,) = listening_sockets(HOST, port)
        with closing(server), closing(socket.socket()) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind((HOST, port))
    with closing(socket.socket()) as other:
        other.bind((HOST, port))


def test_a_host_that_is_not_here() -> None:
    with pytest.raises(OSError, match="assign"):
        HeldPorts("192.0.2.1", 1)
