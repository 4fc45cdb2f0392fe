"""A server's port of REST whose answers the test gives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class RestRequest:
    """What came, all of it."""

    path: str
    fields: dict[str, str]
    body: bytes


@dataclass
class RestResponse:
    """What is answered; ``ends`` closes the connection behind it, without a word of that."""

    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    ends: bool = False


@dataclass
class FakeRestServer:
    """Answers by ``answer``, which may block."""

    port: int = 0
    answer: Callable[[RestRequest], RestResponse] = lambda request: RestResponse()
    requests: list[RestRequest] = field(default_factory=list)
    connections: int = 0


@contextmanager
def fake_rest_server() -> Iterator[FakeRestServer]:
    """Listen until the end of the block."""
    fake = FakeRestServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            fake.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fields = {name.lower(): value for name, value in self.headers.items()}
            request = RestRequest(self.path, fields, body)
            fake.requests.append(request)
            answer = fake.answer(request)
            self.send_response(answer.status)
            for name, value in {**answer.fields, "Content-Length": len(answer.body)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = answer.ends

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        fake.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
