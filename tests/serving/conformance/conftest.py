from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.conformance.clients import CLIENTS, Client
from tests.serving.conformance.servers import SERVERS


@pytest.fixture(scope="module", params=SERVERS)
def clients(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Client]]:
    """A client a face of a server, started in each way in turn."""
    with SERVERS[request.param](tmp_path_factory.mktemp("conformance")) as addresses:
        made = {face: make(addresses) for face, make in CLIENTS.items()}
        yield made
        for client in made.values():
            client.close()
