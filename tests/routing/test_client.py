"""Clients of several real servers, of which some are killed, drained and started again."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import numpy as np
import pytest

import surplus
from bench.infrastructure.ports import free_port
from surplus.loadgen.clients.grpc_request import infer_request
from surplus.loadgen.clients.protocol import SERVICE
from surplus.loadgen.clients.tensors import from_array
from surplus.routing.client_params import EjectionParams
from surplus.routing.errors import QueryError
from surplus.routing.load_report import ASK, wait_ns_in
from tests.isolation.served import WAIT_S, Serving, serving, until, write_model

X = np.arange(4, dtype=np.float32)
PARAMS = surplus.ClientParams(ejection=EjectionParams(eject_s=0.2, most_eject_s=0.2))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("routing")
    write_model(folder, "neg")
    return folder


@pytest.fixture
def pair(repository: Path) -> Iterator[list[Serving]]:
    with ExitStack() as stack:
        yield [stack.enter_context(serving(repository, free_port())) for _ in range(2)]


class Load:
    """Some users that ask one after the other until the end of the block."""

    def __init__(self, client: surplus.AsyncClient, users: int = 6) -> None:
        self._client = client
        self._ended = False
        self._users = [asyncio.create_task(self._ask()) for _ in range(users)]
        self.answered = 0

    async def _ask(self) -> None:
        number = 0
        while not self._ended:
            number += 1
            x = X + number
            answer = await self._client.infer("neg", {"x": x})
            assert (answer["y"] == -x).all()
            self.answered += 1

    async def more(self, queries: int) -> None:
        """Wait until that many more were answered, each as it should be."""
        until_then = self.answered + queries
        while self.answered < until_then:
            for user in self._users:
                if user.done():
                    user.result()
            await asyncio.sleep(0.001)

    async def end(self) -> None:
        self._ended = True
        await asyncio.gather(*self._users)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_under_load_costs_no_query_and_is_back_when_it_is(
    repository: Path, pair: list[Serving], number: signal.Signals
) -> None:
    port = int(pair[0].address.rpartition(":")[2])

    async def play() -> None:
        async with surplus.AsyncClient([one.address for one in pair], PARAMS) as client:
            load = Load(client)
            await load.more(200)
            pair[0].process.send_signal(number)
            await asyncio.to_thread(pair[0].process.wait)
            await load.more(200)
            assert client.counts()[1].answered > 100
            await asyncio.to_thread(again.enter_context, serving(repository, port))
            back = client.counts()[0].answered
            while client.counts()[0].answered < back + 20:
                await load.more(20)
            await load.end()
            rows = client.counts()
            assert sum(row.answered for row in rows) == load.answered
            assert sum(row.failed for row in rows) == sum(row.retried for row in rows)
            assert sum(row.in_flight for row in rows) == 0

    with ExitStack() as again:
        asyncio.run(asyncio.wait_for(play(), 2 * WAIT_S))


def test_threads_ask_without_an_event_loop(pair: list[Serving]) -> None:
    def ask(number: int) -> None:
        answer = client.infer("neg", {"x": X + number})
        assert (answer["y"] == -(X + number)).all()

    with surplus.Client([one.address for one in pair]) as client, ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(40)))
        assert sum(row.answered for row in client.counts()) == 40
        assert all(row.answered > 0 for row in client.counts())
    before = threading.active_count()
    client.close()  # again: nothing
    assert threading.active_count() == before


def test_servers_say_how_busy_they_are_to_who_asks(pair: list[Serving]) -> None:
    request = infer_request("neg", "", [from_array("x", X)])
    with grpc.insecure_channel(pair[0].address) as channel:
        infer = channel.unary_unary(f"{SERVICE}ModelInfer")

        def wait_ns(*metadata: tuple[str, str]) -> int | None:
            _, call = infer.with_call(request, metadata=metadata, timeout=WAIT_S)
            return wait_ns_in(call.trailing_metadata())

        # At first Python answers, and looks at how its plans do.
        until(lambda: wait_ns(ASK) is not None)
        assert 0 <= (wait_ns(ASK) or 0) < WAIT_S * 1e9
        assert wait_ns() is None


def test_a_model_that_one_server_has_not_is_asked_of_the_other(
    repository: Path, tmp_path: Path, pair: list[Serving]
) -> None:
    write_model(tmp_path, "abs", "Abs")
    with (
        serving(tmp_path, free_port()) as third,
        surplus.Client([pair[0].address, third.address]) as client,
    ):
        for _ in range(5):
            assert (client.infer("abs", {"x": -X})["y"] == X).all()
            assert (client.infer("neg", {"x": X})["y"] == -X).all()
        assert sum(row.failed for row in client.counts()) <= 2
        assert not any(row.is_ejected for row in client.counts())


def test_the_servers_are_found_again_after_each_was_lost_in_turn(
    repository: Path, pair: list[Serving]
) -> None:
    ports = [int(one.address.rpartition(":")[2]) for one in pair]
    with surplus.Client([one.address for one in pair], PARAMS) as client:
        pair[0].process.kill()
        pair[0].process.wait()
        client.infer("neg", {"x": X})
        with serving(repository, ports[0]):
            pair[1].process.kill()
            pair[1].process.wait()
            until(lambda: _answers(client))


def _answers(client: surplus.Client) -> bool:
    try:
        client.infer("neg", {"x": X})
    except QueryError:
        return False
    return True
