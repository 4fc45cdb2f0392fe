"""A server is cut off from its clients, one way or both, and comes back."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from bench.chaos.own_network import OwnNetwork, why_not
from surplus.engine.deployment.server_process import ServerProcess
from surplus.routing.async_client import AsyncClient
from surplus.routing.balancer import ServerCounts
from surplus.routing.client_params import ClientParams, EjectionParams
from surplus.routing.errors import QueryError
from tests.deployment.settings import save_version
from tests.deployment.waiting import wait_for
from tests.proxy.routed import counted, routed

WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

# One failure ejects, and one answer says that a server is back: who was slow once is asked rarely.
PARAMS = ClientParams(timeout_s=2.0, ejection=EjectionParams(most_failures=1, eject_s=0.2))
_EVERY_S = 0.01


class CutServer:
    """A server in a network of its own."""

    def __init__(self, network: OwnNetwork, repository: Path, log: Path) -> None:
        self.network = network
        options = [str(repository), "--devices", "cpu:1"]
        with ThreadPoolExecutor(1, initializer=network.enter) as there:
            self._process = there.submit(ServerProcess, options, network.address, log, 1.0).result()
        wait_for(lambda: self._process.addresses.grpc, "a server")
        self.grpc = self._process.addresses.grpc

    def close(self) -> None:
        self._process.close()


class OpenLoop:
    """Queries that do not wait for one another, until the end of the block."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._is_over = threading.Event()
        self.outcomes: Counter[str] = Counter()
        self.sent = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def more(self, count: int) -> None:
        """Wait until so many more were answered."""
        wanted = self.outcomes["right"] + count
        wait_for(lambda: self.outcomes["right"] >= wanted, f"{count} answers")

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while not self._is_over.is_set():
                tasks.create_task(self._ask(self.sent))
                self.sent += 1
                await asyncio.sleep(_EVERY_S)

    async def _ask(self, number: int) -> None:
        x = np.full((1, 4), number, np.float32)
        try:
            y = (await self._client.infer("net", {"x": x}))["y"]
        except QueryError as error:
            self.outcomes[error.kind] += 1
        else:
            self.outcomes["right" if (y == x + 1).all() else "wrong"] += 1


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CutServer]]:
    folder = tmp_path_factory.mktemp("partitions")
    save_version(folder / "repository", "net", 1)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        made = []
        for number in range(2):
            network = stack.enter_context(OwnNetwork(number))
            server = CutServer(network, folder / "repository", folder / f"log-{number}")
            made.append(stack.enter_context(closing(server)))
        yield made


def _check(load: OpenLoop) -> None:
    """Each query has ended, once, in a way that it may."""
    assert sum(load.outcomes.values()) == load.sent
    assert load.outcomes.keys() <= {"right", "DEADLINE_EXCEEDED", "UNAVAILABLE"}


WAYS = pytest.mark.parametrize(
    ("there", "back"), [(True, False), (False, True), (True, True)], ids=["there", "back", "both"]
)


@WAYS
def test_clients_go_elsewhere_and_come_back(
    servers: list[CutServer], there: bool, back: bool
) -> None:
    cut, other = servers
    client = AsyncClient([cut.grpc, other.grpc], PARAMS)

    def counts(server: CutServer) -> ServerCounts:
        return next(row for row in client.counts() if row.name == server.grpc)

    with OpenLoop(client) as load:
        load.more(30)
        wait_for(lambda: counts(cut).answered and counts(other).answered, "both to be asked")
        cut.network.cut(there=there, back=back)
        wait_for(lambda: counts(cut).ejections, "the cut to be noticed")
        load.more(50)
        cut.network.heal()
        before = counts(cut).answered
        wait_for(lambda: counts(cut).answered > before, "the server to be back")
    _check(load)
    assert counts(other).failed == 0
    assert sum(row.answered for row in client.counts()) == load.outcomes["right"]
    asyncio.run(client.close())


@WAYS
def test_a_route_goes_elsewhere_and_comes_back(
    servers: list[CutServer], there: bool, back: bool
) -> None:
    cut, other = servers
    with routed(cut.grpc, other.grpc) as route:
        client = AsyncClient([route.address], PARAMS)

        def asked(outcome: str, server: CutServer = cut) -> float:
            return counted(route, "surplus_replica_queries_total")[server.grpc, outcome]

        def ejections() -> float:
            return counted(route, "surplus_replica_ejections_total")[cut.grpc, ""]

        with OpenLoop(client) as load:
            load.more(30)
            wait_for(lambda: asked("answered") and asked("answered", other), "both to be asked")
            cut.network.cut(there=there, back=back)
            wait_for(ejections, "the cut to be noticed")
            load.more(50)
            cut.network.heal()
            before = asked("answered")
            wait_for(lambda: asked("answered") > before, "the server to be back")
        _check(load)
        assert asked("failed", other) == 0
        answered = asked("answered") + asked("answered", other)
        assert answered >= load.outcomes["right"]
        assert answered <= load.outcomes["right"] + load.outcomes["DEADLINE_EXCEEDED"]
        asyncio.run(client.close())
