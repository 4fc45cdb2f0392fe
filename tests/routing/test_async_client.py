"""What a client makes of servers that do as tests tell them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

import grpc
import numpy as np
import pytest

from surplus.routing.async_client import AsyncClient
from surplus.routing.client_params import ClientParams, EjectionParams
from surplus.routing.errors import NoReplicaError, QueryError, ResolverError
from surplus.routing.resolver import ReplicaAddress
from tests.routing.fake_server import FakeServer, ending, fake_server

X = np.arange(3, dtype=np.float32)
WAIT_S = 60.0  # only a hang reaches it


def played(test: Callable[..., Awaitable[None]], servers: int = 2) -> None:
    async def play() -> None:
        async with asyncio.timeout(WAIT_S), AsyncExitStack() as stack:
            fakes = [await stack.enter_async_context(fake_server()) for _ in range(servers)]
            await test(*fakes)

    asyncio.run(play())


def client_of(*fakes: FakeServer, params: ClientParams | None = None) -> AsyncClient:
    return AsyncClient([fake.address for fake in fakes], params)


async def ask(client: AsyncClient, **options: object) -> np.ndarray:
    return (await client.infer("m", {"x": X}, **options))["y"]


def test_queries_are_spread_and_answered() -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        async with client_of(one, two) as client:
            answers = await asyncio.gather(*(ask(client) for _ in range(8)))
        assert all((answer == X).all() for answer in answers)
        assert (len(one.requests), len(two.requests)) == (4, 4)

    played(test)


def test_what_is_asked_arrives() -> None:
    async def test(one: FakeServer) -> None:
        async with client_of(one, params=ClientParams(token="secret")) as client:
            parameters = {"sequence_id": 7, "sequence_start": True}
            await ask(client, outputs=["y"], version="3", parameters=parameters)
        (request,) = one.requests
        assert (request.model_version, [row.name for row in request.outputs]) == ("3", ["y"])
        said = {row.key: row.value for row in request.parameters}
        assert said["sequence_id"].int64_param == 7
        assert said["sequence_start"].bool_param
        assert one.metadata[0]["authorization"] == "Bearer secret"

    played(test, servers=1)


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.NOT_FOUND,
    ],
)
def test_who_turns_a_query_away_is_not_asked_twice_and_another_one_is(
    code: grpc.StatusCode,
) -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        one.answering = ending(code)
        async with client_of(one, two) as client:
            for _ in range(5):
                assert (await ask(client) == X).all()
            failed = sum(row.failed for row in client.counts())
        assert 1 <= failed == len(one.requests)
        assert len(two.requests) == 5

    played(test)


@pytest.mark.parametrize(
    "code",
    [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL, grpc.StatusCode.PERMISSION_DENIED],
)
def test_a_fault_of_the_query_is_told_by_the_first_who_sees_it(code: grpc.StatusCode) -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        one.answering = two.answering = ending(code)
        async with client_of(one, two) as client:
            with pytest.raises(QueryError) as error:
                await ask(client)
        assert error.value.kind == code.name
        assert error.value.message == "as it was told"
        assert len(one.requests) + len(two.requests) == 1

    played(test)


def test_no_third_server_is_asked() -> None:
    async def test(*fakes: FakeServer) -> None:
        for fake in fakes:
            fake.answering = ending(grpc.StatusCode.UNAVAILABLE)
        async with client_of(*fakes) as client:
            with pytest.raises(QueryError, match="UNAVAILABLE from"):
                await ask(client)
        assert sorted(len(fake.requests) for fake in fakes) == [0, 1, 1]

    played(test, servers=3)


def test_a_query_of_a_sequence_is_asked_once_and_always_of_the_same() -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        async with client_of(one, two) as client:
            for _ in range(4):
                await ask(client, parameters={"sequence_id": 5})
            assert sorted(len(fake.requests) for fake in (one, two)) == [0, 4]
            one.answering = two.answering = ending(grpc.StatusCode.UNAVAILABLE)
            with pytest.raises(QueryError):
                await ask(client, parameters={"sequence_id": 5})
        assert sorted(len(fake.requests) for fake in (one, two)) == [0, 5]

    played(test)


def test_a_server_that_is_silent_is_given_up_when_the_query_is_due() -> None:
    async def test(one: FakeServer) -> None:
        silent = asyncio.Event()

        async def wait(*_: object) -> None:
            await silent.wait()

        one.answering = wait
        async with client_of(one) as client:
            with pytest.raises(QueryError) as error:
                await ask(client, timeout_s=0.05)
            silent.set()
        assert error.value.kind == "DEADLINE_EXCEEDED"

    played(test, servers=1)


def test_a_query_whose_caller_goes_is_counted_no_more() -> None:
    async def test(one: FakeServer) -> None:
        came, cancelled = asyncio.Event(), asyncio.Event()

        async def wait(*_: object) -> None:
            came.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        one.answering = wait
        async with client_of(one) as client:
            task = asyncio.create_task(ask(client))
            await came.wait()
            assert client.counts()[0].in_flight == 1
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert client.counts()[0].in_flight == 0
            await cancelled.wait()

    played(test, servers=1)


def test_who_says_that_it_is_busy_is_asked_less() -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        one.load = "TEXT cpu_utilization=0.5, named_metrics.wait_ns=60000000000"
        async with client_of(one, two) as client:
            for _ in range(10):
                await ask(client)
        assert one.metadata[0]["endpoint-load-metrics-format"] == "TEXT"
        assert (len(one.requests), len(two.requests)) == (1, 9)

    played(test)


def test_a_server_that_is_not_there_costs_no_query() -> None:
    async def test(one: FakeServer) -> None:
        params = ClientParams(ejection=EjectionParams(eject_s=60.0, most_eject_s=60.0))
        async with AsyncClient([one.address, "127.0.0.1:9"], params) as client:
            for _ in range(6):
                assert (await ask(client) == X).all()
            there, nowhere = client.counts()
        assert (there.sent, there.answered) == (6, 6)
        assert (nowhere.sent, nowhere.ejections, nowhere.is_ejected) == (3, 1, True)

    played(test, servers=1)


class Told:
    """A resolver that a test tells what to say."""

    def __init__(self) -> None:
        self.says: Sequence[str] | Exception = ()
        self.asked = 0

    def replicas(self, model: str) -> Sequence[ReplicaAddress]:
        self.asked += 1
        if isinstance(self.says, Exception):
            raise self.says
        return [ReplicaAddress(address) for address in self.says]


def test_who_has_a_model_is_found_out_again_and_again() -> None:
    async def test(one: FakeServer, two: FakeServer) -> None:
        resolver = Told()
        async with AsyncClient(resolver, ClientParams(resolve_s=1e-6)) as client:
            with pytest.raises(NoReplicaError, match="'m'"):
                await ask(client)
            resolver.says = ResolverError("down")
            with pytest.raises(ResolverError, match="down"):
                await ask(client)
            resolver.says = [one.address]
            await ask(client)
            resolver.says = [two.address]
            while not two.requests:
                await ask(client)
            asked = len(one.requests)
            resolver.says = ResolverError("down again")  # and what is known is used
            for _ in range(4):
                await ask(client)
        assert len(one.requests) == asked
        assert resolver.asked >= 5

    played(test)


def test_what_the_resolver_said_is_used_as_long_as_it_is_fresh() -> None:
    async def test(one: FakeServer) -> None:
        resolver = Told()
        resolver.says = [one.address]
        async with AsyncClient(resolver, ClientParams(resolve_s=3600)) as client:
            for _ in range(10):
                await ask(client)
        assert resolver.asked == 1

    played(test, servers=1)


@pytest.mark.parametrize("timeout_s", [0, -1, float("inf"), float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout_s: float) -> None:
    async def test() -> None:
        async with AsyncClient("127.0.0.1:1") as client:
            with pytest.raises(ValueError, match="timeout_s"):
                await ask(client, timeout_s=timeout_s)

    played(test, servers=0)


@pytest.mark.parametrize("servers", [[], ["nowhere"], "host:0", ["http://a:1/path"]])
def test_addresses_that_are_none_are_refused(servers: str | list[str]) -> None:
    with pytest.raises(ValueError, match=r"server|address"):
        AsyncClient(servers)
