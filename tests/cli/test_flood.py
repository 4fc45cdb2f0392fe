"""A server that may open 200 files, and 400 connections that say nothing, to either face."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import NamedTuple

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from surplus import models

WAIT_S = 60
FLOOD = 400
LIMITED = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"]
PATIENT = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 100),  # else up to seconds after there is room
]
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


class Served(NamedTuple):
    """Addresses of a server whose models are not loaded yet."""

    grpc: str
    http: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("flood")
    path = models.save(models.build("lenet"), folder / "lenet.onnx")
    words = [str(path), "--lazy", "--port", "0", "--http-port", "0", "--cache", str(folder / "c")]
    process = subprocess.Popen(
        [*LIMITED, sys.executable, "-m", "surplus.engine.cli.main", "serve", *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(3))
        addresses = re.findall(r"127\.0\.0\.1:\d+", said)
        yield Served(addresses[0], addresses[-1])
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


@contextmanager
def _flooded(address: str, says: bytes) -> Iterator[None]:
    host, port = address.split(":")
    with ExitStack() as opened:
        for _ in range(FLOOD):
            connection = socket.create_connection((host, int(port)), timeout=WAIT_S)
            with suppress(ConnectionError):  # turned away
                opened.enter_context(connection).sendall(says)
        yield


def _http_status(address: str, method: str, path: str, body: str = "") -> int:
    with closing(http.client.HTTPConnection(address, timeout=WAIT_S)) as connection:
        connection.request(method, path, body)
        return connection.getresponse().status


def _grpc_is_live(address: str) -> bool:
    """As a patient client asks; the limit is on all of its attempts."""
    with grpc.insecure_channel(address, options=PATIENT) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        request = service_pb2.ServerLiveRequest()
        return stub.ServerLive(request, wait_for_ready=True, timeout=WAIT_S).live


def test_health_answers_and_models_load_beside_a_flood_of_http(served: Served) -> None:
    image = {"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": [0] * 784}
    query = json.dumps({"inputs": [image]})
    with _flooded(served.http, b""):
        assert _http_status(served.http, "GET", "/v2/health/live") == 200
        assert _grpc_is_live(served.grpc)
        assert _http_status(served.http, "POST", "/v2/models/lenet/infer", query) == 200


@pytest.mark.parametrize("says", [b"", HTTP2], ids=["silent", "greeting"])
def test_health_answers_beside_a_flood_of_grpc(served: Served, says: bytes) -> None:
    """gRPC closes what comes beyond its limit, and in some seconds what says nothing."""
    with _flooded(served.grpc, says):
        assert _http_status(served.http, "GET", "/v2/health/live") == 200
        assert _grpc_is_live(served.grpc)
