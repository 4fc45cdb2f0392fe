"""The native client over HTTP/1.1: answers that it reads, and those that it refuses."""

import json
import threading

import numpy as np
import pytest

from surplus.loadgen import native_load
from surplus.loadgen.address import HostPort, parse_address
from surplus.loadgen.clients.inputs import TensorMetadata
from surplus.loadgen.clients.rest_request import rest_inputs, rest_request
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.native import module_missing
from surplus.loadgen.native_load import NativeLoad, NativeParams, NativeTarget
from surplus.loadgen.params import LoadgenParams
from tests.loadgen.scripted_server import ScriptedServer, read_request

pytestmark = pytest.mark.skipif(module_missing() is not None, reason=str(module_missing()))

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Answering(ScriptedServer):
    """Answers every request of a connection as ``answers(number of the request)`` says."""

    def __init__(self, answers):
        self.requests = []
        self._answers = answers
        self._at, self._then = -1, None
        super().__init__(self._converse)

    def _converse(self, connection, number):
        while request := read_request(connection):
            self.requests.append(request)
            if 0 <= self._at <= len(self.requests):  # the client may come again before the end
                if self._at == len(self.requests):
                    self._then()
                return
            for part in self._answers(len(self.requests) - 1):
                connection.sendall(part)

    def when(self, request, then):
        """Call ``then`` at the request of that number, and answer nothing from then on."""
        self._at, self._then = request, then


@pytest.fixture
def answering():
    servers = []

    def start(answers):
        servers.append(Answering(answers))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


def _run(*args, **params):
    return _load(*args, **params).run()


def _load(server, count, users=1, body=b"x", timeout_ns=60_000_000_000, **params):
    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
    target = NativeTarget(HostPort(*server.address), [head + body], timeout_ns=timeout_ns)
    load = LoadgenParams(min_duration_ns=0, min_count=count)
    loop = ClosedLoopParams(load, users)
    return NativeLoad(target, loop, NativeParams(**params))


@pytest.mark.parametrize(("users", "connections"), [(1, 0), (4, 0), (4, 2)])
def test_every_query_is_sent_and_answered_once(answering, users, connections):
    server = answering(lambda _: [_OK])
    records = _run(server, 40, users, connections=connections, compares=True)
    assert len(records) == len(server.requests) >= 40
    assert not records.kind.any()


def test_an_answer_may_come_in_any_pieces(answering):
    server = answering(lambda _: [_OK[k : k + 1] for k in range(len(_OK))])
    assert not _run(server, 5, compares=True).kind.any()


def test_what_is_long_goes_both_ways(answering):
    long = b"HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n" + bytes(2_000_000)
    server = answering(lambda _: [long])
    body = np.random.default_rng(0).bytes(3_000_000)
    assert not _run(server, 3, body=body, compares=True).kind.any()
    assert all(request.endswith(body) for request in server.requests)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b"HTTP/1.1 429 Slow Down\r\nContent-Length: 3\r\n\r\nwhy", "HTTP 429", "why"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "CHUNKED_ANSWER", ""),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "ANSWER_WITHOUT_LENGTH", "content-length"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhello",
            "UNAVAILABLE",
            "longer than it says",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "UNAVAILABLE",
            "length is not a number: x",
        ),
        (b"HTTP/1.1 abc OK\r\nContent-Length: 1\r\n\r\n", "UNAVAILABLE", "status is not a number"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "UNAVAILABLE", "does not speak HTTP/1.1"),
        (b"x" * 100_000, "UNAVAILABLE", "head has no end"),
    ],
)
def test_other_answers_are_errors_by_name(answering, answer, kind, said):
    records = _run(answering(lambda _: [answer]), 3)
    assert records.kinds == (kind,)
    assert records.is_kind(kind).all()
    assert said in records.said().get(kind, "")


def test_a_different_answer_is_an_error_if_asked(answering):
    server = answering(lambda k: [_OK.replace(b"hello", b"other") if k == 3 else _OK])
    records = _run(server, 6, compares=True)
    assert list(records.is_kind("DIFFERENT_ANSWER")) == [k == 3 for k in range(6)]


def test_a_server_that_closes_after_each_answer_is_asked_anew(answering):
    closing = _OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert not _run(answering(lambda _: [closing]), 5).kind.any()


def test_an_answer_that_does_not_come_is_not_taken_for_the_next_one(answering):
    late = _OK.replace(b"hello", b"first")
    server = answering(lambda k: [] if k == 0 else [late if k == 1 else _OK])
    records = _run(server, 4, timeout_ns=1_000_000_000)
    assert records.is_kind("DEADLINE_EXCEEDED")[0]
    assert not records.kind[1:].any()


def test_a_server_that_is_only_slow_is_not_given_up(answering, monkeypatch):
    """Nothing happens for longer than a server that is away is waited for."""
    monkeypatch.setattr(native_load, "PATIENCE_NS", 10_000_000)
    load = _load(answering(lambda _: []), 1, timeout_ns=100_000_000)
    assert load.run().is_kind("DEADLINE_EXCEEDED").all()
    assert not load.generator.gave_up
    assert not load.generator.is_bottleneck


def test_a_server_that_stays_away_is_given_up(answering, monkeypatch):
    monkeypatch.setattr(native_load, "PATIENCE_NS", 10_000_000)
    server = answering(lambda _: [_OK])
    load = _load(server, 10**9)
    ending = threading.Thread(target=server.end)
    server.when(5, ending.start)
    records = load.run()
    ending.join()
    assert load.generator.gave_up
    assert records.kinds == ("UNAVAILABLE",)
    assert (records.kind == 0).sum() >= 4


def test_a_request_says_where_its_json_ends():
    tensors = [from_array("x", np.arange(4, dtype=np.float32)), from_array("s", np.array(["a"]))]
    head, _, body = rest_request(HostPort("h", 80), "a b", "1", tensors).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[:2] == ["POST /v2/models/a%20b/versions/1/infer HTTP/1.1", "Host: h:80"]
    fields = dict(line.split(": ") for line in lines[1:])
    assert int(fields["Content-Length"]) == len(body)
    end = int(fields["Inference-Header-Content-Length"])
    assert body[end:] == tensors[0].raw + tensors[1].raw
    said = json.loads(body[:end])
    assert said["parameters"] == {"binary_data_output": True}
    assert [row["parameters"]["binary_data_size"] for row in said["inputs"]] == [16, 5]


def test_inputs_are_asked_for(answering):
    server = ScriptedServer(_say_inputs)
    try:
        found = rest_inputs(HostPort(*server.address), "m", "", timeout_s=30)
    finally:
        server.end()
    assert found == [TensorMetadata("x", "FP32", (-1, 4))]


def _say_inputs(connection, number):
    connection.recv(65536)
    inputs = [{"name": "x", "datatype": "FP32", "shape": ["-1", 4]}]
    body = json.dumps({"inputs": inputs}).encode()
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            "refused model 'm': HTTP 404: no",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "says no inputs"),
        (b"SSH-2.0\r\n\r\n", "cannot reach"),
    ],
)
def test_servers_that_do_not_say_inputs_are_refused(answer, message):
    def talk(connection, number):
        connection.recv(65536)
        connection.sendall(answer)

    server = ScriptedServer(talk)
    try:
        with pytest.raises(TargetError, match=message):
            rest_inputs(HostPort(*server.address), "m", "", timeout_s=30)
    finally:
        server.end()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("127.0.0.1:8001", HostPort("127.0.0.1", 8001)),
        ("http://localhost:80/", HostPort("localhost", 80)),
        ("[::1]:8001", HostPort("::1", 8001)),
    ],
)
def test_addresses_have_three_forms(url, address):
    assert parse_address(url) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "url", ["", "8001", ":8001", "host", "host:", "host:x", "::1:80", "unix:/tmp/x", "dns:///h:1"]
)
def test_other_addresses_are_refused_by_name(url):
    with pytest.raises(ValueError, match="is not host:port"):
        parse_address(url)


@pytest.mark.parametrize("port", ["0", "65536"])
def test_ports_out_of_range_are_refused(port):
    with pytest.raises(ValueError, match="the port must be 1 to 65535"):
        parse_address(f"h:{port}")
