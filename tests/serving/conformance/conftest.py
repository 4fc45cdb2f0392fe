from __future__ import annotations

from collections.abc import Iterator

import pytest

import surplus
from tests.serving.conformance.clients import CLIENTS, Addresses, Client
from tests.serving.conformance.models import models


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Where our own server answers."""
    folder = tmp_path_factory.mktemp("conformance")
    files = {model.name: model.write_onnx(folder) for model in models()}
    with surplus.Server(files, port=0, http_port=0) as server:
        assert server.http_address is not None
        yield Addresses(server.address, server.http_address)


@pytest.fixture(scope="module")
def clients(addresses: Addresses) -> Iterator[dict[str, Client]]:
    """A client a face."""
    made = {face: make(addresses) for face, make in CLIENTS.items()}
    yield made
    for client in made.values():
        client.close()
