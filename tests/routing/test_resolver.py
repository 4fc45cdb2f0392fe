"""What a cluster's resolver says, and what is said of one that does not say it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from surplus.routing.errors import ResolverError
from surplus.routing.resolver import HttpResolver, ReplicaAddress, replicas_in

ROWS = [
    {"grpc": "10.0.0.1:8001", "http": "10.0.0.1:8000", "load": 2.5},
    {"grpc": "10.0.0.2:8001"},
]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.path == "/v1/models/a%2Fb"
        self.send_response(200 if known else 500 if self.path.endswith("broken") else 404)
        self.end_headers()
        if known:
            self.wfile.write(json.dumps({"model": "a/b", "replicas": ROWS}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_replicas_are_read(url: str) -> None:
    assert HttpResolver(url + "/").replicas("a/b") == [
        ReplicaAddress("10.0.0.1:8001", "10.0.0.1:8000", 2.5),
        ReplicaAddress("10.0.0.2:8001"),
    ]


def test_a_model_that_it_does_not_know_has_no_replica(url: str) -> None:
    assert HttpResolver(url).replicas("c") == []


def test_what_fails_is_said_with_the_address(url: str) -> None:
    with pytest.raises(ResolverError, match=r"broken: HTTP 500"):
        HttpResolver(url).replicas("broken")
    with pytest.raises(ResolverError, match=r"127\.0\.0\.1:9/v1/models/m: "):
        HttpResolver("http://127.0.0.1:9").replicas("m")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b'{"replicas": 3}',
        b'{"replicas": [{}]}',
        b'{"replicas": [{"grpc": "nowhere"}]}',
        b'{"replicas": [{"grpc": "a:1", "load": -1}]}',
        b'{"replicas": [{"grpc": "a:1", "load": "much"}]}',
    ],
)
def test_what_is_no_answer_of_a_resolver_is_refused(document: bytes) -> None:
    with pytest.raises(ResolverError, match="does not answer as a resolver"):
        replicas_in(document, "http://r")


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="http://"):
        HttpResolver("r:80")
