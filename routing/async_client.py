"""A client of several servers, for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Self

import numpy.typing as npt

from surplus.routing.balancer import ServerCounts
from surplus.routing.client_params import ClientParams
from surplus.routing.errors import not_resolved
from surplus.routing.known_replicas import require
from surplus.routing.query import Outputs, Servers, outputs_of, query_of, resolver_of
from surplus.routing.query_router import QueryRouter, RoutedTry
from surplus.routing.replica_channel import outcome


class AsyncClient:
    """As ``Client``, and waits without blocking: as an asynchronous context manager.

    Cancelling who waits cancels the query. Any number of event loops may ask.

    Parameters
    ----------
    servers : str, sequence of str, or Resolver
        ``host:port`` of the servers, ``http://host:port`` of a cluster's resolver, or one's own.
    params : ClientParams, optional
        How to ask them.

    Raises
    ------
    ValueError
        If an address is none.
    """

    def __init__(self, servers: Servers, params: ClientParams | None = None) -> None:
        self._params = params or ClientParams()
        self._router = QueryRouter(resolver_of(servers), self._params)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def infer(
        self,
        model: str,
        inputs: Mapping[str, npt.ArrayLike],
        *,
        outputs: Sequence[str] = (),
        version: str = "",
        timeout_s: float | None = None,
        parameters: Mapping[str, int] = MappingProxyType({}),
    ) -> Outputs:
        """Ask one query; parameters and errors as of ``Client.infer``."""
        wanted_s = self._params.timeout_s if timeout_s is None else timeout_s
        query = query_of(model, inputs, outputs, version, wanted_s, parameters)
        if (look := self._router.look_for(model)) is not None:
            try:
                found = asyncio.shield(asyncio.wrap_future(look))
                require(await asyncio.wait_for(found, query.left_s), model)
            except TimeoutError:
                raise not_resolved() from None
        came: bytes | RoutedTry = self._router.begin(query)
        while isinstance(came, RoutedTry):
            came = await self._finished(came)
        return outputs_of(came)

    async def _finished(self, tried: RoutedTry) -> bytes | RoutedTry:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # of a loop that has ended, with all who waited there
                loop.call_soon_threadsafe(done.set)

        tried.call.add_done_callback(wake)
        try:
            await done.wait()
        except BaseException:
            self._router.give_up(tried)
            raise
        return self._router.finish(tried, outcome(tried.call))

    def counts(self) -> list[ServerCounts]:
        """What became of the queries that were sent to each server."""
        return self._router.counts()

    async def close(self) -> None:
        """End what is in flight, and all connections."""
        await asyncio.to_thread(self._router.close)
