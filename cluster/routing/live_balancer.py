"""The balancer of our clients and proxies, in a simulated cluster: the same object."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.cluster.routing.query_balancer import SendFailure, Sending
from surplus.routing.balancer import Balancer, Failure

_FAILURES = {
    SendFailure.LOST: Failure.LOST,
    SendFailure.REFUSED: Failure.REFUSED,
    SendFailure.LATE: Failure.LATE,
}


class LiveBalancer:
    """Least expected lateness, one more try within the deadline, ejection.

    Parameters
    ----------
    options : int
        Of ``surplus.routing``'s ``Balancer``.
    """

    def __init__(self, **options: int) -> None:
        self._balancer = Balancer(**options)
        self._models = self._servers = 0

    def set_replicas(self, model: int, servers: Sequence[int]) -> None:
        """Say who has a model from now on; what is known of those that stay is kept."""
        self._know(model, max(servers, default=-1))
        self._balancer.set_replicas(model, [(server, 0.0) for server in servers])

    def send(self, model: int, now_ns: int, due_ns: int) -> Sending | None:
        """Begin a query; None where no server has the model."""
        self._know(model, -1)
        sent = self._balancer.send(model, now_ns, due_ns)
        return None if sent is None else Sending(*sent)

    def answered(self, ticket: int, now_ns: int, wait_ns: int | None) -> None:
        """Note an answer, and how long a new query would wait there, if the server says so."""
        self._balancer.answered(ticket, now_ns, wait_ns)

    def failed(self, ticket: int, now_ns: int, failure: SendFailure) -> Sending | None:
        """Note a failure; where the query is begun again, None if it is not."""
        sent = self._balancer.failed(ticket, now_ns, _FAILURES[failure])
        return None if sent is None else Sending(*sent)

    def ejections(self, now_ns: int) -> int:
        """How often servers were ejected."""
        return sum(counts.ejections for counts in self._balancer.counts(now_ns))

    def _know(self, model: int, server: int) -> None:
        """Give models and servers the numbers that they have here."""
        while self._models <= model:
            self._models = self._balancer.model(str(self._models)) + 1
        while self._servers <= server:
            self._servers = self._balancer.server(str(self._servers)) + 1
