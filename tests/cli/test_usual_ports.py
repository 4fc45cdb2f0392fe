"""Where ``engine serve`` listens when nobody says so: gRPC on 8001, and HTTP on 8000 if it can."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import pytest

from surplus.engine.cli.main import _parser
from surplus.engine.cli.serve_options import server_params
from surplus.engine.serving import http_if_possible as optional
from surplus.engine.serving.server_params import FrontEnd, ServerParams


def asked(*words: str) -> ServerParams:
    return server_params(_parser().parse_args(["serve", "model.onnx", *words]))


@pytest.mark.parametrize(
    ("words", "grpc_port", "http_port", "is_needed"),
    [
        ((), 8001, 8000, False),
        (("--no-http",), 8001, None, True),
        (("--one-port",), 8001, None, True),
        (("--http-port", "8080"), 8001, 8080, True),
        (("--port", "9001"), 9001, None, True),
        (("--port", "9001", "--http-port", "9000"), 9001, 9000, True),
    ],
)
def test_ports(words: tuple[str, ...], grpc_port: int, http_port: int, is_needed: bool) -> None:
    params = asked(*words)
    found = (params.grpc_port, params.http_port, params.needs_http_port)
    assert found == (grpc_port, http_port, is_needed)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_a_port_that_is_taken_is_left_out(taken: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        left = optional.http_if_possible(ServerParams(http_port=taken, needs_http_port=False))
    assert left.http_port is None
    assert f"127.0.0.1:{taken}" in caplog.text
    asked_for = ServerParams(http_port=taken)
    assert optional.http_if_possible(asked_for) == asked_for


def test_nothing_speaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = ServerParams(http_port=0, needs_http_port=False, front_end=FrontEnd.PYTHON)
    assert optional.http_if_possible(usual) == usual
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    assert optional.http_if_possible(usual).http_port is None
