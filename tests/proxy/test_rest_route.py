"""Queries over REST that ``engine route`` passes on as they are."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as triton

from bench.infrastructure.ports import free_port
from surplus.engine.proxy.server_words import parse_server
from tests.isolation.served import WAIT_S, Serving, serving, until, write_model
from tests.proxy.fake_rest_server import (
    FakeRestServer,
    RestRequest,
    RestResponse,
    fake_rest_server,
)
from tests.proxy.routed import counted, frozen, rest_words, routed

X = np.arange(4, dtype=np.float32)
DOCUMENT = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [4], "data": X.tolist()}]}
PATH = "/v2/models/neg/infer"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rest")
    write_model(folder, "neg")
    return folder


@pytest.fixture(scope="module")
def pair(repository: Path) -> Iterator[list[Serving]]:
    with ExitStack() as stack:
        yield [stack.enter_context(serving(repository, free_port())) for _ in range(2)]


@pytest.fixture
def fakes() -> Iterator[list[FakeRestServer]]:
    with fake_rest_server() as one, fake_rest_server() as other:
        yield [one, other]


def rest_of_fakes(pair: list[Serving], fakes: list[FakeRestServer]) -> list[str]:
    """Servers whose REST is answered by the fakes."""
    return [f"{one.address}+{fake.port}" for one, fake in zip(pair, fakes, strict=False)]


@contextmanager
def connected(route: Serving) -> Iterator[HTTPConnection]:
    connection = HTTPConnection(route.http_address, timeout=WAIT_S)
    try:
        yield connection
    finally:
        connection.close()


def posted(
    connection: HTTPConnection, body: bytes | str, path: str = PATH, **fields: str
) -> tuple[HTTPResponse, bytes]:
    connection.request("POST", path, body, {k.replace("_", "-"): v for k, v in fields.items()})
    answer = connection.getresponse()
    return answer, answer.read()


def asks(client: triton.InferenceServerClient, x: np.ndarray = X, binary: bool = True) -> bool:
    tensor = triton.InferInput("x", list(x.shape), "FP32")
    tensor.set_data_from_numpy(x, binary_data=binary)
    outputs = [triton.InferRequestedOutput("y", binary_data=binary)]
    answer = client.infer("neg", [tensor], outputs=outputs).as_numpy("y")
    return bool((answer == -x).all())


def test_a_query_is_passed_on_and_answered_as_it_came(
    pair: list[Serving], fakes: list[FakeRestServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURPLUS_TOKEN", "secret-of-the-route")
    head = json.dumps({"id": "a", "inputs": [], "unknown": {"x": [1, "}"]}}).encode()
    tensor = bytes(range(256))
    fakes[0].answer = lambda request: RestResponse(
        200, {"Content-Type": "odd/type", "Inference-Header-Content-Length": "2"}, b"[]\x00\xff"
    )
    with routed(rest_of_fakes(pair, fakes)[0]) as route, connected(route) as client:
        answer, body = posted(
            client,
            head + tensor,
            "/v2/models/neg/versions/1/infer",
            Content_Type="application/octet-stream",
            Inference_Header_Content_Length=str(len(head)),
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            Authorization="Bearer of-the-client",
        )
    assert (answer.status, body) == (200, b"[]\x00\xff")
    assert answer.getheader("Content-Type") == "odd/type"
    assert answer.getheader("Inference-Header-Content-Length") == "2"
    [request] = fakes[0].requests
    assert (request.path, request.body) == ("/v2/models/neg/versions/1/infer", head + tensor)
    assert request.fields["content-type"] == "application/octet-stream"
    assert request.fields["inference-header-content-length"] == str(len(head))
    assert request.fields["traceparent"].startswith("00-0af7651916cd43dd")
    assert request.fields["authorization"] == "Bearer secret-of-the-route"
    assert request.fields["endpoint-load-metrics-format"] == "TEXT"


def test_real_servers_answer_all_that_clients_send(pair: list[Serving]) -> None:
    with (
        routed(*rest_words(pair)) as route,
        triton.InferenceServerClient(route.http_address) as client,
    ):
        for binary in (True, False):
            for _ in range(10):
                assert asks(client, binary=binary)
        assert asks(client, np.arange(1_000_000, dtype=np.float32))
        with connected(route) as plain:
            # What the route leaves to Python, which asks over gRPC.
            escaped = json.dumps({"id": "é", **DOCUMENT})
            assert "\\u00e9" in escaped
            packed = gzip.compress(json.dumps(DOCUMENT).encode())
            for body, fields in ((escaped, {}), (packed, {"Content_Encoding": "gzip"})):
                answer, said = posted(plain, body, **fields)
                assert answer.status == 200
                assert json.loads(said)["outputs"][0]["data"] == (-X).tolist()
        sent = counted(route, "surplus_replica_queries_total")
    assert {address for address, _ in sent} == {one.address for one in pair}
    assert sum(value for (_, kind), value in sent.items() if kind == "answered") == 23


def test_what_is_wrong_is_said_as_the_servers_say_it(pair: list[Serving]) -> None:
    bodies = (
        "no json",
        json.dumps({"inputs": []}),
        json.dumps({"inputs": [{**DOCUMENT["inputs"][0], "datatype": "FP99"}]}),
        json.dumps({**DOCUMENT, "outputs": [{"name": "nobody"}]}),
    )

    def said(server: Serving) -> list[tuple[int, bytes]]:
        with connected(server) as client:
            found = [posted(client, body) for body in bodies]
            found.append(posted(client, "{}", "/v2/models/nobody/infer"))
        return [(answer.status, text) for answer, text in found]

    with routed(*rest_words(pair)) as route:
        assert said(route) == said(pair[0])


def test_a_query_that_a_server_does_not_take_is_answered_once_by_another(
    pair: list[Serving], fakes: list[FakeRestServer]
) -> None:
    first = threading.Event()

    def refuse_first(request: RestRequest) -> RestResponse:
        if first.is_set():
            return RestResponse(body=b'{"from": "another"}')
        first.set()
        return RestResponse(503, body=b'{"error": "not now"}')

    for fake in fakes:
        fake.answer = refuse_first
    with routed(*rest_of_fakes(pair, fakes)) as route, connected(route) as client:
        answer, body = posted(client, json.dumps(DOCUMENT))
        assert (answer.status, body) == (200, b'{"from": "another"}')
        assert [len(fake.requests) for fake in fakes] == [1, 1]
        retried = counted(route, "surplus_replica_queries_total")
        assert sum(value for (_, kind), value in retried.items() if kind == "retried") == 1
        # All of them refuse: the last one is heard, and nobody is asked a third time.
        for fake in fakes:
            fake.answer = lambda request: RestResponse(503, body=b'{"error": "not now"}')
        answer, body = posted(client, json.dumps(DOCUMENT))
        assert (answer.status, body) == (503, b'{"error": "not now"}')
        assert sum(len(fake.requests) for fake in fakes) == 4


def test_where_a_port_of_rest_is_not_known_all_are_asked_over_grpc(
    pair: list[Serving], fakes: list[FakeRestServer]
) -> None:
    words = [rest_of_fakes(pair, fakes)[0], pair[1].address]
    with routed(*words) as route, connected(route) as client:
        for _ in range(10):
            answer, said = posted(client, json.dumps(DOCUMENT))
            assert answer.status == 200
            assert json.loads(said)["outputs"][0]["data"] == (-X).tolist()
    assert not fakes[0].requests


def test_a_query_of_a_sequence_goes_where_the_last_one_went_and_is_tried_once(
    pair: list[Serving], fakes: list[FakeRestServer]
) -> None:
    document = json.dumps({**DOCUMENT, "parameters": {"sequence_id": 7}})
    with routed(*rest_of_fakes(pair, fakes)) as route, connected(route) as client:
        for _ in range(8):
            assert posted(client, document)[0].status == 200
        assert sorted(len(fake.requests) for fake in fakes) == [0, 8]
        for fake in fakes:
            fake.answer = lambda request: RestResponse(503)
        assert posted(client, document)[0].status == 503
        assert sum(len(fake.requests) for fake in fakes) == 9


def test_connections_are_used_again_and_one_that_ended_costs_no_query(
    pair: list[Serving], fakes: list[FakeRestServer]
) -> None:
    with routed(rest_of_fakes(pair, fakes)[0]) as route, connected(route) as client:
        for _ in range(5):
            assert posted(client, json.dumps(DOCUMENT))[0].status == 200
        assert fakes[0].connections == 1
        fakes[0].answer = lambda request: RestResponse(ends=True)
        for _ in range(20):
            assert posted(client, json.dumps(DOCUMENT))[0].status == 200
        found = counted(route, "surplus_replica_queries_total")
        assert found.get((pair[0].address, "failed"), 0.0) == 0


def test_a_client_that_leaves_ends_its_query_there(
    pair: list[Serving], fakes: list[FakeRestServer]
) -> None:
    leave = threading.Event()

    def wait(request: RestRequest) -> RestResponse:
        leave.wait(WAIT_S)
        return RestResponse()

    fakes[0].answer = wait
    with routed(rest_of_fakes(pair, fakes)[0]) as route:
        with connected(route) as client:
            client.request("POST", PATH, json.dumps(DOCUMENT))
            until(lambda: fakes[0].requests)

        def pending() -> float:
            return counted(route, "surplus_replica_pending_queries")[pair[0].address, ""]

        until(lambda: pending() == 0)
        leave.set()
        with connected(route) as client:  # over a connection of its own
            assert posted(client, json.dumps(DOCUMENT))[0].status == 200
        assert fakes[0].connections == 2


def test_a_server_that_ends_under_load_over_rest_costs_no_query(repository: Path) -> None:
    with (
        serving(repository, free_port()) as other,
        serving(repository, free_port()) as one,
        routed(*rest_words([one, other])) as route,
        ThreadPoolExecutor(4) as pool,
    ):
        ended = threading.Event()
        answered = [0]

        def ask() -> None:
            with connected(route) as client:
                while not ended.is_set():
                    x = X + len(answered)
                    asked = {"inputs": [{**DOCUMENT["inputs"][0], "data": x.tolist()}]}
                    answer, said = posted(client, json.dumps(asked))
                    assert answer.status == 200, said
                    assert json.loads(said)["outputs"][0]["data"] == (-x).tolist()
                    answered.append(1)

        users = [pool.submit(ask) for _ in range(4)]

        def more(queries: int) -> None:
            wanted = len(answered) + queries
            until(lambda: len(answered) >= wanted or any(user.done() for user in users))

        try:
            more(100)
            one.process.kill()
            one.process.wait()
            more(100)
        finally:
            ended.set()
        for user in users:
            user.result()
        found = counted(route, "surplus_replica_queries_total")
        total = {
            kind: sum(value for (_, of), value in found.items() if of == kind)
            for kind in ("failed", "retried")
        }
        assert total["failed"] == total["retried"]


def test_a_query_that_is_due_is_given_up(repository: Path) -> None:
    document = json.dumps({**DOCUMENT, "parameters": {"timeout": 200_000}})
    with (
        serving(repository, free_port()) as one,
        routed(*rest_words([one]), "--unheard", "600") as route,
        connected(route) as client,
    ):
        assert posted(client, document)[0].status == 200
        with frozen(one.process):
            answer, body = posted(client, document)
            assert answer.status == 504
            assert b"deadline" in body


def test_what_no_answer_is_is_said(pair: list[Serving], fakes: list[FakeRestServer]) -> None:
    fakes[0].answer = lambda request: RestResponse(200, {"Transfer-Encoding": "chunked"})
    with routed(rest_of_fakes(pair, fakes)[0]) as route, connected(route) as client:
        answer, body = posted(client, json.dumps(DOCUMENT))
        assert answer.status == 503
        assert f"127.0.0.1:{fakes[0].port}: the server does not speak HTTP/1.1".encode() in body


@pytest.mark.parametrize("words", ["127.0.0.1:9+", "127.0.0.1:9+x", "127.0.0.1:9+65536", ":9+8000"])
def test_ports_that_are_none_are_named(words: str) -> None:
    with pytest.raises(ValueError, match=r"is not host:port"):
        parse_server(words)


def test_rest_is_answered_again_when_the_server_is_back(repository: Path) -> None:
    port, http_port = free_port(), free_port()
    with ExitStack() as again:
        one = again.enter_context(serving(repository, port, http_port))
        route = again.enter_context(routed(f"127.0.0.1:{port}+{http_port}"))
        client = again.enter_context(connected(route))
        assert posted(client, json.dumps(DOCUMENT))[0].status == 200
        one.process.kill()
        one.process.wait()
        assert posted(client, json.dumps(DOCUMENT))[0].status == 503
        again.enter_context(serving(repository, port, http_port))
        until(lambda: posted(client, json.dumps(DOCUMENT))[0].status == 200)
