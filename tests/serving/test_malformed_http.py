"""Malformed HTTP requests: a clean status or none, and a server that stays, in its memory, too."""

from __future__ import annotations

import http.client
import io
import json
import socket
import subprocess
import sys
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.fuzzing_time import generator, rounds
from tests.serving import http_fuzzing

ROOT = Path(__file__).parents[2]

WAIT_S = 30
ROUNDS = 60
CLEAN = {200, 400, 404, 405, 408, 411, 413, 414, 415, 417, 429, 431, 501, 503, 505}
UNANSWERED_S = 0.02  # parts of a request get no answer
GROWTH_BYTES = 64 << 20
PEAK_BYTES = 512 << 20


class Address:
    """A server's port and process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._port = int(process.stdout.readline())

    def connect(self) -> socket.socket:
        """A new connection."""
        return socket.create_connection(("127.0.0.1", self._port), timeout=WAIT_S)

    def is_live(self) -> bool:
        """Whether a new connection is answered."""
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)) as client:
            client.request("GET", "/v2/health/live")
            return client.getresponse().status == 200 and self._process.poll() is None

    def memory_bytes(self, field: str = "VmRSS") -> int:
        """Resident memory, or the most that it ever was: VmHWM."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) << 10
        raise ValueError(f"no {field}")


@pytest.fixture(scope="module", params=["native", "python"])
def server(request):
    command = [sys.executable, "-m", "tests.serving.http_process", request.param]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Address(process)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(WAIT_S) == 0


class _Stream(io.BufferedReader):
    """What a connection says, for one answer after the other; what was read ahead is kept."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(socket.SocketIO(connection, "r"))

    def makefile(self, _: str) -> _Stream:
        return self

    def close(self) -> None:
        """Answers close what they have read, the test its connection."""


def _answers(connection, count, timeout_s=WAIT_S, method="POST"):
    """Statuses and bodies of as many answers as come."""
    connection.settimeout(timeout_s)
    stream = _Stream(connection)
    for _ in range(count):
        answer = http.client.HTTPResponse(stream, method=method)
        try:
            answer.begin()
            connection.settimeout(WAIT_S)
            yield answer.status, answer.read()
        except (TimeoutError, ConnectionError, http.client.BadStatusLine):
            return


def _status(server, data):
    """Of the answer to these bytes; 0 if there is none."""
    with server.connect() as connection:
        with suppress(ConnectionError):  # an answer before all was sent
            connection.sendall(data)
        for status, _ in _answers(connection, 1, UNANSWERED_S, data[:4].decode("latin-1")):
            return status
    return 0


def test_malformed_requests(server):
    rng = generator(5)
    statuses: Counter[int] = Counter()
    _malformed_once(server, rng, statuses)  # what is imported and allocated once
    before = server.memory_bytes()
    for _ in rounds(ROUNDS):
        _malformed_once(server, rng, statuses)
        assert server.is_live()
    assert statuses.keys() <= CLEAN | {0}
    assert statuses.keys() >= {200, 400, 404, 413}
    assert server.memory_bytes() < before + GROWTH_BYTES
    assert server.memory_bytes("VmHWM") < PEAK_BYTES
    print(f"{statuses.total()} requests: {dict(statuses)}")


def _malformed_once(server, rng, statuses):
    for make in http_fuzzing.MALFORMED:
        data = make(rng)
        status = _status(server, data)
        assert status in CLEAN | {0}, (make.__name__, status, data[:2000])
        statuses[status] += 1


def test_pipelined_requests_are_answered_in_their_order(server):
    rng = generator(6)
    for _ in rounds(ROUNDS // 4):
        asked = [[float(rng.randrange(1000))] * rng.randrange(1, 9) for _ in range(20)]
        data = b"".join(
            http_fuzzing.request(http_fuzzing.query(values, str(number)))
            for number, values in enumerate(asked)
        )
        with server.connect() as connection:
            at = 0
            while at < len(data):  # in parts that end anywhere
                size = rng.randrange(1, 4000)
                connection.sendall(data[at : at + size])
                at += size
            found = [json.loads(body) for _, body in _answers(connection, len(asked))]
        assert [answer["id"] for answer in found] == [str(n) for n in range(len(asked))]
        assert [answer["outputs"][0]["data"] for answer in found] == asked


def test_a_malformed_request_among_others(server):
    """The others are answered rightly, or not at all, as the connection ends with it."""
    rng = generator(7)
    for _ in rounds(ROUNDS // 4):
        good = http_fuzzing.request(http_fuzzing.query([3.0], "good"))
        bad = http_fuzzing.flipped(rng)
        with server.connect() as connection:
            with suppress(ConnectionError):
                connection.sendall(good + bad + good)
            answers = list(_answers(connection, 3, UNANSWERED_S))
        assert {status for status, _ in answers} <= CLEAN
        good = [body for status, body in answers if status == 200 and b'"good"' in body]
        assert all(json.loads(body)["outputs"][0]["data"] == [3.0] for body in good)


def test_parts_of_requests_that_stay_open(server):
    """Their connections wait for the rest; others are answered meanwhile."""
    rng = generator(8)
    for _ in rounds(2):
        opened = [server.connect() for _ in range(100)]
        for connection in opened:
            with suppress(ConnectionError):
                connection.sendall(http_fuzzing.cut(rng))
        assert server.is_live()
        for connection in opened:
            connection.close()
