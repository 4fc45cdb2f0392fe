"""Sends queries to the servers in turn: a reference, and what Kubernetes' services do.

Nobody is ejected, and nothing is sent again.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.cluster.routing.query_balancer import SendFailure, Sending


class RoundRobin:
    """Round robin, model for model."""

    def __init__(self) -> None:
        self._servers: dict[int, list[int]] = {}
        self._next: dict[int, int] = {}
        self._last = 0

    def set_replicas(self, model: int, servers: Sequence[int]) -> None:
        """Say who has a model from now on."""
        self._servers[model] = list(servers)

    def send(self, model: int, now_ns: int, due_ns: int) -> Sending | None:
        """Begin a query on the next server."""
        servers = self._servers.get(model)
        if not servers:
            return None
        turn = self._next.get(model, 0)
        self._next[model] = turn + 1
        self._last += 1
        return Sending(self._last, servers[turn % len(servers)])

    def answered(self, ticket: int, now_ns: int, wait_ns: int | None) -> None:
        """Learn nothing."""

    def failed(self, ticket: int, now_ns: int, failure: SendFailure) -> Sending | None:
        """Send nothing again."""
        return None
