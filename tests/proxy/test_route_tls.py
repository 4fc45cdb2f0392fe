"""``engine route`` before servers that speak TLS."""

from __future__ import annotations

import json
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
import trustme

from bench.infrastructure.ports import free_port
from tests.isolation.served import WAIT_S, Serving, serving, until, write_model
from tests.proxy.routed import COMMAND, counted, rest_words, routed
from tests.serving.tls import Identity, identity

X = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    write_model(folder / "models", "neg")
    return folder / "models"


def shown(own: Identity, clients: Identity | None = None) -> list[str]:
    """Options of a server."""
    words = ["--tls-cert", str(own.certificate), "--tls-key", str(own.key)]
    return words if clients is None else [*words, "--tls-client-ca", str(clients.ca)]


def believed(server: Identity, own: Identity | None = None) -> list[str]:
    """Options of a route."""
    words = ["--servers-tls-ca", str(server.ca)]
    if own is None:
        return words
    files = ["--servers-tls-cert", str(own.certificate), "--servers-tls-key", str(own.key)]
    return [*words, *files]


def asks(route: Serving) -> None:
    """Over gRPC and over REST, small and large."""
    with route.client() as client:
        for x in (X, np.arange(1_000_000, dtype=np.float32)):
            tensor = triton.InferInput("x", list(x.shape), "FP32")
            tensor.set_data_from_numpy(x)
            assert (client.infer("neg", [tensor]).as_numpy("y") == -x).all()
    connection = HTTPConnection(route.http_address, timeout=WAIT_S)
    try:
        for x in (X, np.arange(50_000, dtype=np.float32), X):
            asked = {"name": "x", "datatype": "FP32", "shape": [len(x)], "data": x.tolist()}
            connection.request("POST", "/v2/models/neg/infer", json.dumps({"inputs": [asked]}))
            answer = json.loads(connection.getresponse().read())
            assert answer["outputs"][0]["data"] == (-x).tolist()
    finally:
        connection.close()


@pytest.mark.parametrize("is_mutual", [False, True])
def test_servers_are_asked_over_tls(repository: Path, tmp_path: Path, is_mutual: bool) -> None:
    server, own = identity(tmp_path, "server"), identity(tmp_path, "route")
    options = shown(server, own if is_mutual else None)
    with (
        serving(repository, free_port(), 0, *options) as one,
        serving(repository, free_port(), 0, *options) as other,
        routed(*rest_words([one, other]), *believed(server, own if is_mutual else None)) as route,
    ):
        asks(route)
        asks(route)
        found = counted(route, "surplus_replica_queries_total")
        assert all(found.get((each.address, "failed"), 0) == 0 for each in (one, other))
        one.process.kill()
        one.process.wait()
        until(lambda: counted(route, "surplus_replica_ejections_total")[one.address, ""])
        asks(route)


@pytest.mark.parametrize("wrong", ["authority", "name", "nothing shown"])
def test_servers_that_are_not_believed_are_not_asked(
    repository: Path, tmp_path: Path, wrong: str
) -> None:
    known = trustme.CA()
    server = identity(tmp_path, "server", known)
    if wrong == "name":
        leaf = known.issue_cert("other.example")
        server.certificate.write_bytes(b"".join(b.bytes() for b in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(server.key)
    authority = identity(tmp_path, "stranger") if wrong == "authority" else server
    clients = server if wrong == "nothing shown" else None
    with serving(repository, free_port(), 0, *shown(server, clients)) as one:
        command = [*COMMAND, *rest_words([one]), *believed(authority), "--port", "0"]
        done = subprocess.run(
            [*command, "--wait", "2"], capture_output=True, text=True, check=False, timeout=WAIT_S
        )
    assert done.returncode == 1
    assert f"nothing to route: {one.address}" in done.stderr
