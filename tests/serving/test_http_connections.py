"""More HTTP connections than the server may hold: who asks is answered, who does not makes room."""

import asyncio
import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import pytest

from surplus.engine.serving.http_connections import HttpConnections
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread

MOST = 16
QUERY = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [2]}]})
PARTS = {
    "silent": b"",
    "part of a head": b"POST /v2/models/gate/infer HTTP/1.1\r\nHost: a\r\nX-",
    "part of a body": b"POST /v2/models/gate/infer HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
    "kept after an answer": b"GET /v2 HTTP/1.1\r\nHost: a\r\n\r\n",
}


LISTENERS = {
    "native": {"front_end": FrontEnd.NATIVE, "http_port": 0},
    "python": {"front_end": FrontEnd.PYTHON, "http_port": 0},
    "one port": {"one_port": True},
}


@pytest.fixture(params=LISTENERS)
def server(request):
    params = ServerParams(
        grpc_port=0, max_connections=MOST, max_in_flight=99, **LISTENERS[request.param]
    )
    thread = ServerThread(params)
    yield thread
    thread.stop()


@pytest.fixture
def flood(server):
    """Opens connections that the client does not close before the test ends."""
    host, port = server.http_url.split(":")
    with ExitStack() as opened:

        def flood(says, count=4 * MOST):
            made = []
            for _ in range(count):
                connection = socket.create_connection((host, int(port)), timeout=WAIT_S)
                made.append(opened.enter_context(connection))
                connection.sendall(says)
                if says == PARTS["kept after an answer"]:
                    connection.recv(4096)  # until then somebody waits, and it is not closed
            return made

        yield flood


@contextmanager
def _client(server):
    with closing(http.client.HTTPConnection(server.http_url, timeout=WAIT_S)) as client:
        yield client


def _closed(connection):
    connection.settimeout(WAIT_S)
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def _status(connection, method, path, body=None):
    connection.request(method, path, body)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _live(connection):
    return _status(connection, "GET", "/v2/health/live") == 200


@pytest.mark.parametrize("says", PARTS.values(), ids=PARTS.keys())
def test_a_new_connection_is_heard(server, flood, says):
    opened = flood(says)
    with _client(server) as client:
        assert _live(client)
    assert all(_closed(connection) for connection in opened[:MOST])


def test_a_query_keeps_its_connection(server, flood):
    gate = server.gate("gate")
    with _client(server) as client:
        client.request("POST", "/v2/models/gate/infer", QUERY)
        assert gate.entered.acquire(timeout=WAIT_S)
        assert all(_closed(connection) for connection in flood(b"")[:MOST])
        server.call(gate.open.set)
        assert json.loads(client.getresponse().read())["outputs"][0]["data"] == [2.0]


def test_who_asks_now_and_then_outlives_who_does_not(server, flood):
    with _client(server) as client:
        assert _live(client)
        kept = client.sock
        for _ in range(4 * MOST):
            flood(b"", 1)
            assert _live(client)
        assert client.sock is kept


@pytest.mark.parametrize("rounds", range(4))
def test_who_is_accepted_while_it_stops_is_closed(rounds):
    """However far the event loop has come with them."""

    async def clients():
        stopped = AsyncServer(ServerParams(grpc_port=0, http_port=0, front_end=FrontEnd.PYTHON))
        await stopped.start()
        address = ("127.0.0.1", stopped.http_port)
        opened = [socket.create_connection(address, timeout=WAIT_S) for _ in range(MOST)]
        for _ in range(rounds):
            await asyncio.sleep(0)
        await stopped._http.stop()
        await stopped.stop()
        return opened

    for connection in asyncio.run(clients()):
        with closing(connection):
            assert _closed(connection)


class _Vanishing:
    """What aiohttp's server gives where clients go away at once."""

    connections = ()
    transport = None

    def __call__(self):
        return _Vanishing()


def test_who_went_away_before_asking_is_forgotten():
    async def most_held():
        connections = HttpConnections(MOST)
        server = _Vanishing()
        return max(len(connections._silent) for _ in range(99) if connections.opened(server))

    assert asyncio.run(most_held()) <= 2 * MOST


def test_queries_leave_some_connections_to_others(server):
    gate = server.gate("gate")

    def ask():
        with _client(server) as client:
            return _status(client, "POST", "/v2/models/gate/infer", QUERY)

    with ThreadPoolExecutor(MOST) as clients:
        asked = [clients.submit(ask) for _ in range(MOST - 2)]
        for _ in asked:
            assert gate.entered.acquire(timeout=WAIT_S)
        assert ask() == 429
        with _client(server) as client:
            assert _live(client)
        server.call(gate.open.set)
        assert {done.result() for done in asked} == {200}
