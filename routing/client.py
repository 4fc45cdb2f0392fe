"""A client of several servers, for programs without an event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as NotInTime
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


class Client:
    """Asks the replica of a model that is expected to answer first, or least late.

    A query is asked once more, of another replica, where the first one could not be reached, turned
    it away, or has not the model, while it is not due; no other copy of it is in flight then, so
    there is one answer. What fails is asked no more for a while. As a context manager; any number
    of threads may ask.

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def infer(
        self,
        model: str,
        inputs: Mapping[str, npt.ArrayLike],
        *,
        outputs: Sequence[str] = (),
        version: str = "",
        timeout_s: float | None = None,
        parameters: Mapping[str, int] = MappingProxyType({}),
    ) -> Outputs:
        """Ask one query and wait for its answer.

        Parameters
        ----------
        inputs : mapping of str to array
            By the names of the model's inputs.
        outputs : sequence of str
            Which outputs are wanted; none: all.
        version : str
            Of the model; empty: the server's choice.
        timeout_s : float, optional
            In which it is due, > 0; by default the client's.
        parameters : mapping of str to int or bool
            Of the protocol's extensions. Queries of one ``sequence_id`` go to one replica, and are
            asked once.

        Raises
        ------
        QueryError
            If it was not answered.
        NoReplicaError, ResolverError
            If nobody is known that has the model.
        PayloadError
            If an input has a type that the protocol has not.
        """
        wanted_s = self._params.timeout_s if timeout_s is None else timeout_s
        query = query_of(model, inputs, outputs, version, wanted_s, parameters)
        if (look := self._router.look_for(model)) is not None:
            try:
                require(look.result(query.left_s), model)
            except NotInTime:
                raise not_resolved() from None
        came: bytes | RoutedTry = self._router.begin(query)
        while isinstance(came, RoutedTry):
            came = self._finished(came)
        return outputs_of(came)

    def _finished(self, tried: RoutedTry) -> bytes | RoutedTry:
        try:
            tried.call.exception()  # waits
        except BaseException:  # Ctrl-C, too
            self._router.give_up(tried)
            raise
        return self._router.finish(tried, outcome(tried.call))

    def counts(self) -> list[ServerCounts]:
        """What became of the queries that were sent to each server."""
        return self._router.counts()

    def close(self) -> None:
        """End what is in flight, and all connections."""
        self._router.close()
