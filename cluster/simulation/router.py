"""The clients of a simulated cluster: they send each query, once more if that fails, and end it."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Protocol

from surplus.cluster.routing.query_balancer import QueryBalancer, SendFailure, Sending
from surplus.cluster.simulation.node_server import LeftServer
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.record import NEVER_NS

_ANSWERED = (Outcome.IN_TIME, Outcome.LATE)


class Servers(Protocol):
    """What clients see of the servers."""

    def deliver(self, node: int, query: Query, now_ns: int) -> int | None:
        """Hand a query to a server; its number there, None if nobody says anything.

        Raises
        ------
        ConnectionError
            If no server listens there.
        """
        ...

    def settle(self, node: int) -> None:
        """Tell the router what has ended on a node."""
        ...

    def wait_ns(self, node: int) -> int | None:
        """What a server that answers says that a new query would wait; None if it does not."""
        ...

    def at(self, when_ns: int, happening: Callable[[int], None]) -> None:
        """Let something happen."""
        ...


class Router:
    """Sends queries, and gives each of them one outcome.

    Parameters
    ----------
    queries : int
        How many there will be.
    balancer : QueryBalancer
    servers : Servers

    Attributes
    ----------
    outcome, ended_ns, tries
        By query, as its client sees it: what became of it, when, and how often it was sent.
    """

    def __init__(self, queries: int, balancer: QueryBalancer, servers: Servers) -> None:
        self._balancer = balancer
        self._servers = servers
        self._there: dict[int, dict[int, tuple[Query, int]]] = {}
        self.outcome = array("b", bytes(queries))
        self.ended_ns = array("q", [NEVER_NS]) * queries
        self.tries = array("b", bytes(queries))

    def send(self, query: Query, now_ns: int) -> None:
        """Send a query that came."""
        sending = self._balancer.send(query.service, now_ns, query.deadline_ns)
        if sending is None:
            self._end(query, Outcome.REJECTED, now_ns)
        else:
            self._go(query, sending, now_ns)

    def left(self, node: int, ended: LeftServer, now_ns: int) -> None:
        """Hear from a server that a query has ended there."""
        query, ticket = self._there[node].pop(ended.number)
        if ended.outcome in _ANSWERED:
            self._balancer.answered(ticket, now_ns, self._servers.wait_ns(node))
            self._end(query, ended.outcome, now_ns)
        else:
            self._failed(query, ticket, SendFailure.REFUSED, ended.outcome, now_ns)

    def gone(self, node: int, silent: bool, now_ns: int) -> None:
        """Lose the connections to a server, or wait in vain for what it was sent."""
        there = self._there.pop(node, {})
        for query, ticket in there.values():
            if silent:
                self._wait(query, ticket, now_ns)
            else:
                self._failed(query, ticket, SendFailure.LOST, Outcome.FAILED, now_ns)

    def _go(self, query: Query, sending: Sending, now_ns: int) -> None:
        ticket, node = sending
        self.tries[query.id] += 1
        try:
            number = self._servers.deliver(node, query, now_ns)
        except ConnectionError:
            self._failed(query, ticket, SendFailure.LOST, Outcome.FAILED, now_ns)
            return
        if number is None:
            self._wait(query, ticket, now_ns)
        else:
            self._there.setdefault(node, {})[number] = query, ticket
            self._servers.settle(node)

    def _failed(
        self, query: Query, ticket: int, why: SendFailure, outcome: Outcome, now_ns: int
    ) -> None:
        """Send a query again, or end it."""
        sending = self._balancer.failed(ticket, now_ns, why)
        if sending is None:
            self._end(query, outcome, now_ns)
        else:
            self._go(query, sending, now_ns)

    def _wait(self, query: Query, ticket: int, now_ns: int) -> None:
        """Give a query up when it is due: nobody will answer it."""
        due_ns = max(now_ns, query.deadline_ns)
        why, outcome = SendFailure.LATE, Outcome.FAILED
        self._servers.at(due_ns, lambda when: self._failed(query, ticket, why, outcome, when))

    def _end(self, query: Query, outcome: Outcome, now_ns: int) -> None:
        if self.outcome[query.id]:
            raise RuntimeError(f"query {query.id} ends twice")
        self.outcome[query.id] = outcome
        self.ended_ns[query.id] = now_ns
