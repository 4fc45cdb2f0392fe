"""Servers that a client asks: who is next, what is known of them, connections to them."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Any

from surplus.routing.balancer import Balancer, Failure, ServerCounts
from surplus.routing.client_params import ClientParams
from surplus.routing.errors import NoReplicaError, QueryError
from surplus.routing.known_replicas import KnownReplicas, Replicas
from surplus.routing.replica_channel import AnsweredTry, FailedTry, ReplicaChannel
from surplus.routing.resolver import Resolver


@dataclass(frozen=True)
class RoutedQuery:
    """A query that is to be asked.

    Parameters
    ----------
    model : str
        Who has it is asked.
    request : bytes
        A ModelInferRequest.
    due_ns : int
        On the clock of ``time.monotonic_ns``.
    sequence : int
        Its sequence; 0: of none.
    """

    model: str
    request: bytes
    due_ns: int
    sequence: int = 0

    @property
    def left_s(self) -> float:
        """Until it is due; above 0."""
        return max(1e-6, (self.due_ns - time.monotonic_ns()) / 1e9)


@dataclass(frozen=True)
class RoutedTry:
    """A query on its way to a server: gRPC's future, and the balancer's ticket."""

    query: RoutedQuery
    ticket: int
    server: int
    call: Any


class QueryRouter:
    """The servers of one client. Thread-safe; blocks for connections' making alone."""

    def __init__(self, resolver: Resolver, params: ClientParams) -> None:
        self._params = params
        ejection = params.ejection
        self._lock = Lock()
        self._balancer = Balancer(
            most_failures=ejection.most_failures,
            eject_ns=round(ejection.eject_s * 1e9),
            most_eject_ns=round(ejection.most_eject_s * 1e9),
        )
        self._names: list[str] = []
        self._channels: dict[int, ReplicaChannel] = {}
        self._known = KnownReplicas(resolver, params.resolve_s, self._learn)

    def look_for(self, model: str) -> Future[Replicas] | None:
        """As ``KnownReplicas.look_for``."""
        return self._known.look_for(model)

    def begin(self, query: RoutedQuery) -> RoutedTry:
        """Send a query of a model that somebody has.

        Raises
        ------
        NoReplicaError
            If nobody has it any more.
        """
        with self._lock:
            number = self._balancer.model(query.model)
            now_ns = time.monotonic_ns()
            sent = self._balancer.send(number, now_ns, query.due_ns, query.sequence % 2**64)
            if sent is None:
                raise NoReplicaError(f"no server has model {query.model!r} any more")
        return self._sent(query, *sent)

    def finish(self, tried: RoutedTry, came: AnsweredTry | FailedTry) -> bytes | RoutedTry:
        """A response, or another try, which is under way.

        Raises
        ------
        QueryError
            If there is none.
        """
        now_ns = time.monotonic_ns()
        if isinstance(came, AnsweredTry):
            with self._lock:
                self._balancer.answered(tried.ticket, now_ns, came.wait_ns)
            return came.message
        with self._lock:
            again = self._balancer.failed(tried.ticket, now_ns, came.failure)
        if came.failure in (Failure.UNAVAILABLE, Failure.ABSENT):
            self._known.doubt(tried.query.model)
        if again is None:
            raise QueryError(came.kind, came.message, self._names[tried.server])
        return self._sent(tried.query, *again)

    def give_up(self, tried: RoutedTry) -> None:
        """Nobody waits for it any more."""
        tried.call.cancel()
        with self._lock:
            self._balancer.abandoned(tried.ticket)

    def counts(self) -> list[ServerCounts]:
        """What became of the queries that were sent to each server."""
        with self._lock:
            return self._balancer.counts(time.monotonic_ns())

    def close(self) -> None:
        """End what is in flight, and all connections."""
        self._known.close()
        with self._lock:
            channels, self._channels = list(self._channels.values()), {}
        for channel in channels:
            channel.close()

    def _learn(self, model: str, replicas: Replicas) -> None:
        with self._lock:
            rows = [(self._balancer.server(row.grpc), row.load) for row in replicas]
            self._balancer.set_replicas(self._balancer.model(model), rows)
            self._names = [row.name for row in self._balancer.counts(0)]

    def _sent(self, query: RoutedQuery, ticket: int, server: int) -> RoutedTry:
        with self._lock:
            channel = self._channels.get(server)
            if channel is None:
                channel = ReplicaChannel(self._names[server], self._params)
                self._channels[server] = channel
        return RoutedTry(query, ticket, server, channel.ask(query.request, query.left_s))
