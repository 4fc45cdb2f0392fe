"""Tells clients where a model is served: JSON over HTTP.

::

    GET /v1/models/NAME   {"model": NAME, "replicas": [{"grpc": ..., "http": ..., "load": ...}]}
    GET /v1/models        {"models": [those]}
    GET /v1/nodes         {"nodes": [...]}: what each serves, and since when
    GET /v1/targets       for Prometheus' http_sd_configs: the metrics of each node
    GET /v1/health        whether the resolver answers
    GET /                 a page for people

A model without replicas is woken by who asks for it, who is answered when it serves; 503 if that
takes too long.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from surplus.engine.deployment.directory import Directory, ListedReplica
from surplus.engine.deployment.nodes_page import nodes_page
from surplus.engine.errors import ConfigError
from surplus.engine.serving.address import cannot_listen

_MODELS = "/v1/models/"
_MOST_WAITING = 256
"""Clients at a time that wait for a model; more are told to come again."""

LEAST_WAIT_S = 30.0
"""For a model that no other time is known of."""

Reports = Callable[[], list[dict[str, Any]]]


class _Answer(NamedTuple):
    status: int
    document: Any  # JSON; text is a page


class ResolverServer:
    """An HTTP server of a thread.

    Parameters
    ----------
    address : str
        ``HOST:PORT``; of port 0 the system chooses one.
    directory : Directory
    wait_s : mapping of str to float
        How long who asks for a model that has no replica waits for it, at most, by model.
    nodes : callable
        What each node is and serves, as JSON has it.

    Attributes
    ----------
    address : str

    Raises
    ------
    ConfigError
        If it cannot listen there.
    """

    def __init__(
        self, address: str, directory: Directory, wait_s: Mapping[str, float], nodes: Reports
    ) -> None:
        self._directory = directory
        self._wait_s = wait_s
        self._nodes = nodes
        self._waiting = threading.Semaphore(_MOST_WAITING)
        host, _, port = address.rpartition(":")
        if not (host and port.isdigit() and int(port) < 1 << 16):
            raise ConfigError(f"resolver must be HOST:PORT, got {address!r}")
        try:
            self._server = _server(host, int(port), self)
        except OSError as error:
            raise cannot_listen(host, int(port), str(error.strerror)) from error
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="surplus resolver", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, target: str) -> _Answer:
        """What is said to a path."""
        path = urlsplit(target).path
        if path.startswith(_MODELS):
            return self._model(unquote(path.removeprefix(_MODELS)))
        if path == "/v1/models":
            found = self._directory.models()
            return _Answer(200, {"models": [_document(*row) for row in sorted(found.items())]})
        if path == "/v1/nodes":
            return _Answer(200, {"nodes": self._nodes()})
        if path == "/v1/targets":
            return _Answer(200, _targets(self._nodes()))
        if path in ("/", "/status"):
            return _Answer(200, nodes_page(self._nodes()))
        if path == "/v1/health":
            return _Answer(200, {"live": True})
        return _Answer(404, {"error": f"there is no {path}"})

    def _model(self, name: str) -> _Answer:
        if not self._waiting.acquire(blocking=False):
            return _Answer(503, {"error": "too many wait for models; come again"})
        try:
            found = self._directory.find(name, self._wait_s.get(name, LEAST_WAIT_S))
        finally:
            self._waiting.release()
        if found is None:
            return _Answer(404, {"error": f"there is no model {name!r}"})
        if not found:
            return _Answer(503, {"error": f"model {name!r} has no replica yet; come again"})
        return _Answer(200, _document(name, found))


def _document(name: str, replicas: tuple[ListedReplica, ...]) -> dict[str, Any]:
    return {"model": name, "replicas": [asdict(replica) for replica in replicas]}


def _targets(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"targets": [node["metrics"]], "labels": {"node": node["node"], "kind": node["kind"]}}
        for node in nodes
        if node["metrics"]
    ]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing of clients that have gone while they were waited for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _server(host: str, port: int, resolver: ResolverServer) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30.0

        def do_GET(self) -> None:
            status, document = resolver.answer(self.path)
            is_page = isinstance(document, str)
            text = document if is_page else json.dumps(document, separators=(",", ":"))
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if is_page else "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status == 503:
                self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing per request."""

    return _Server((host, port), Handler)
