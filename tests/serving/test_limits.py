"""What clients may take of a server, over both faces; it is given back, and others are answered."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from bench.safety.raw_http2 import RawConnection
from surplus.engine import _core
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.server_params import MAX_MESSAGE_BYTES, FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, identity, tensor

LARGEST_BYTES = 1 << 20
ROOM_BYTES = 16 << 20
METHOD = "/inference.GRPCInferenceService/ModelInfer"


@pytest.fixture(scope="module", params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def server(request: pytest.FixtureRequest) -> Iterator[ServerThread]:
    thread = ServerThread(
        ServerParams(
            grpc_port=0,
            http_port=0,
            max_message_bytes=LARGEST_BYTES,
            max_body_s=0.2,
            front_end=request.param,
        )
    )
    thread.server.plane.memory.limit_bytes = ROOM_BYTES
    thread.serve("identity", identity())
    thread.serve("texts", identity("BYTES"))
    yield thread
    thread.stop()


@pytest.fixture
def account(server: ServerThread) -> Iterator[_core.MemoryAccount]:
    """The server's, of which nothing is held before and afterwards."""
    account = server.server.plane.memory
    assert account.held_bytes == 0
    yield account
    for _ in range(1000):  # the answer is written before the share is given back
        if account.held_bytes == 0:
            break
        server.call(lambda: None)
    assert account.held_bytes == 0


def _answer(server: ServerThread, body: bytes, **headers: str) -> tuple[int, dict, dict[str, str]]:
    with closing(http.client.HTTPConnection(server.http_url, timeout=WAIT_S)) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", "/v2/models/identity/infer", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), dict(answer.getheaders())


def _document(values: int) -> bytes:
    row = {"name": "x", "datatype": "FP32", "shape": [values], "data": [0] * values}
    return json.dumps({"inputs": [row]}).encode()


def test_64_mib_by_default() -> None:
    assert ServerParams().max_message_bytes == MAX_MESSAGE_BYTES == 64 << 20


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_limit_bytes", -1),
        ("max_body_s", 0),
        ("max_handshake_s", 0),
        ("max_body_s", float("nan")),
        ("max_streams", 0),
    ],
)
def test_limits_that_are_none(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        ServerParams(**{name: value})


@pytest.mark.parametrize("compressed", [False, True])
def test_too_large_over_http(
    compressed: bool, server: ServerThread, account: _core.MemoryAccount
) -> None:
    body = bytes(LARGEST_BYTES + 1)
    headers = {"Content-Encoding": "gzip"} if compressed else {}
    status, document, _ = _answer(server, gzip.compress(body) if compressed else body, **headers)
    assert status == 413
    assert "Too Large" in document["error"]
    assert _answer(server, _document(4))[0] == 200


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_too_large_over_grpc(
    compression: grpc.Compression | None, server: ServerThread, account: _core.MemoryAccount
) -> None:
    with grpc.insecure_channel(server.url) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(METHOD)(
            bytes(LARGEST_BYTES + 1), timeout=WAIT_S, compression=compression
        )
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_no_room_over_grpc(server: ServerThread, account: _core.MemoryAccount) -> None:
    zeros = np.zeros(1000, np.float32)
    with MemoryShare(account) as others, triton.InferenceServerClient(server.url) as client:
        others.take(ROOM_BYTES - 2000, "others")
        with pytest.raises(InferenceServerException, match=r"a call: .* ask again") as caught:
            client.infer("identity", [tensor("x", zeros, "FP32")])
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        others.give_all()
        assert client.infer("identity", [tensor("x", zeros, "FP32")]).as_numpy("y").size == 1000


def test_no_room_over_http(server: ServerThread, account: _core.MemoryAccount) -> None:
    with MemoryShare(account) as others:
        others.take(ROOM_BYTES - 2000, "others")
        status, document, headers = _answer(server, _document(1000))
        assert status == 429
        assert "memory limit" in document["error"]
        assert headers["Retry-After"] == "1"
        others.give_all()
        assert _answer(server, _document(1000))[0] == 200


def test_no_room_for_the_values(server: ServerThread, account: _core.MemoryAccount) -> None:
    """Strings of nothing: 4 bytes each as they come, and 128 here."""
    count = LARGEST_BYTES // 5
    texts = np.full(count, b"", np.object_)
    with triton.InferenceServerClient(server.url) as client:
        with pytest.raises(InferenceServerException, match=r"'x': .* memory limit") as caught:
            client.infer("texts", [tensor("x", texts, "BYTES")])
        assert caught.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        few = tensor("x", texts[:10], "BYTES")
        assert client.infer("texts", [few]).as_numpy("y").size == 10


def test_no_room_in_a_stream(server: ServerThread, account: _core.MemoryAccount) -> None:
    def requests() -> Iterator[bytes]:
        for size in (4, 100_000, 4):
            request = service_pb2.ModelInferRequest(model_name="identity", id=str(size))
            request.inputs.add(name="x", datatype="FP32", shape=[size])
            request.raw_input_contents.append(bytes(4 * size))
            yield request.SerializeToString()

    with grpc.insecure_channel(server.url) as channel, MemoryShare(account) as others:
        others.take(ROOM_BYTES - 100_000, "others")
        call = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")
        answers = list(map(service_pb2.ModelStreamInferResponse.FromString, call(requests())))
    assert [bool(answer.error_message) for answer in answers] == [False, True, False]
    assert [answer.infer_response.id for answer in answers] == ["4", "100000", "4"]


def test_a_body_that_does_not_come_holds_little_and_ends(
    server: ServerThread, account: _core.MemoryAccount
) -> None:
    host, port = server.http_url.split(":")
    head = f"POST /v2/models/identity/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGEST_BYTES}"
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n{")
        assert b" 408 " in connection.makefile("rb").readline()


@pytest.mark.parametrize("says", [b"", b"GET /v2/health/li"])
def test_a_head_that_does_not_come_ends(says: bytes, server: ServerThread) -> None:
    host, port = server.http_url.split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(says)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_more_fields_than_any_query_has(server: ServerThread) -> None:
    with grpc.insecure_channel(server.url) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(METHOD)(b"\x2a\x00" * 200_000, timeout=WAIT_S)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "fields" in caught.value.details()


def test_a_query_that_dribbles_in_is_ended(server: ServerThread) -> None:
    if server.server._native is None:
        pytest.skip("grpc.aio lets a message take any time")
    with RawConnection(server.url) as connection:
        connection.open(1)
        connection.upload(1, bytes([0, 0, 0, 16, 0]) + bytes(1000))
        while 1 not in connection.ended:
            assert connection.hear(WAIT_S)


def test_a_message_that_does_not_come_is_ended_where_memory_is_full(server: ServerThread) -> None:
    with RawConnection(server.url) as connection:
        connection.open(1)
        connection.upload(1, bytes([0, 0, 0, 16, 0]) + bytes(1000))
        while 1 not in connection.ended:
            server.call(server.server._relieve, False)
            connection.hear(0.01)
        assert server.call(len, server.server._receipts) == 0
