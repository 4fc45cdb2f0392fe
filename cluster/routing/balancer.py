"""Sends a query where its answer is expected first, and nowhere where nobody answers.

What it knows of a server is what it sent there and what came back: no server reports anything. A
query is expected to take the *pace* of its model there, how long answers took of late over the
queries that were then before them, times those that are before it now. All replicas have one
deadline to keep, so the first answer is the least late one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from surplus.cluster.routing.query_balancer import SendFailure, Sending
from surplus.colocation.frame.clock import NS_PER_S

_WEIGHT = 1 / 8
"""Of an answer in the mean of its pace."""

_FADE_NS = 5 * NS_PER_S
"""In which a pace halves that nothing confirms: who was slow once is asked again."""


@dataclass(frozen=True)
class EjectionParams:
    """When a server is left alone.

    Parameters
    ----------
    most_failures : int
        Queries in a row that it lets become due, and it is ejected; >= 1. Who is lost is at once.
    eject_ns, most_eject_ns : int
        For how long at first, and at most: twice as long each time; > 0. Then one query tries it.
    looks : int
        Servers that are compared for a query, each in its turn; >= 1.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    most_failures: int = 3
    eject_ns: int = NS_PER_S
    most_eject_ns: int = 30 * NS_PER_S
    looks: int = 16

    def __post_init__(self) -> None:
        if min(self.most_failures, self.looks, self.eject_ns) < 1:
            raise ValueError(f"most_failures, looks and eject_ns must be >= 1, got {self}")
        if self.most_eject_ns < self.eject_ns:
            raise ValueError(f"most_eject_ns must be >= eject_ns, got {self}")


@dataclass
class _Server:
    in_flight: int = 0
    in_row: int = 0
    until_ns: int = 0
    last_eject_ns: int = 0
    trial: int = 0


@dataclass
class _Pace:
    ns: float
    learnt_ns: int


@dataclass
class _Ticket:
    model: int
    server: int
    sent_ns: int
    due_ns: int
    before: int
    again: bool = False


@dataclass
class _Model:
    servers: list[int] = field(default_factory=list)
    pace: dict[int, _Pace] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    turn: int = 0


class LeastLateness:
    """The least expected lateness, one more try within the deadline, ejection.

    Parameters
    ----------
    params : EjectionParams, optional
    """

    def __init__(self, params: EjectionParams | None = None) -> None:
        self._params = params or EjectionParams()
        self._servers: dict[int, _Server] = {}
        self._models: dict[int, _Model] = {}
        self._tickets: dict[int, _Ticket] = {}
        self._last = 0
        self.ejections = 0

    def set_replicas(self, model: int, servers: Sequence[int]) -> None:
        """Say who has a model from now on; what is known of those that stay is kept."""
        own = self._models.setdefault(model, _Model())
        own.servers = list(servers)
        own.pace = {server: own.pace[server] for server in servers if server in own.pace}
        for server in servers:
            self._servers.setdefault(server, _Server())

    def send(self, model: int, now_ns: int, due_ns: int) -> Sending | None:
        """Begin a query; None where no server has the model."""
        server = self._choose(model, now_ns, -1)
        return None if server is None else self._begin(_Ticket(model, server, now_ns, due_ns, 0))

    def answered(self, ticket: int, now_ns: int) -> None:
        """Note an answer, and what it tells of its server's pace."""
        ended = self._end(ticket)
        self.restored(ended.server)
        model = self._models[ended.model]
        seen_ns = (now_ns - ended.sent_ns) / (ended.before + 1)
        known = model.pace.get(ended.server)
        mean_ns = seen_ns if known is None else known.ns + _WEIGHT * (seen_ns - known.ns)
        model.pace[ended.server] = _Pace(mean_ns, now_ns)

    def failed(self, ticket: int, now_ns: int, failure: SendFailure) -> Sending | None:
        """Note a failure; begin the query on another server if it is the first and not due yet."""
        ended = self._end(ticket)
        if failure is SendFailure.LOST:
            self.lost(ended.server, now_ns)
        elif failure is SendFailure.LATE:
            self._let_wait(self._servers[ended.server], now_ns)
        else:
            self.restored(ended.server)
        if ended.again or failure is SendFailure.LATE or ended.due_ns <= now_ns:
            return None
        other = self._choose(ended.model, now_ns, ended.server)
        if other is None:
            return None
        return self._begin(_Ticket(ended.model, other, now_ns, ended.due_ns, 0, again=True))

    def lost(self, server: int, now_ns: int) -> None:
        """Eject a server that can be reached no more."""
        self._eject(self._servers[server], now_ns)

    def restored(self, server: int) -> None:
        """Forget that a server failed."""
        own = self._servers[server]
        own.in_row = own.until_ns = own.last_eject_ns = 0

    def _let_wait(self, server: _Server, now_ns: int) -> None:
        server.in_row += 1
        if server.in_row >= self._params.most_failures or server.last_eject_ns:
            self._eject(server, now_ns)

    def _eject(self, server: _Server, now_ns: int) -> None:
        if server.until_ns <= now_ns:
            longer_ns = max(self._params.eject_ns, 2 * server.last_eject_ns)
            server.last_eject_ns = min(longer_ns, self._params.most_eject_ns)
            server.until_ns = now_ns + server.last_eject_ns
            self.ejections += 1

    def _choose(self, model: int, now_ns: int, but: int) -> int | None:
        """Of the open servers looked at the first to answer, else the next that opens."""
        own = self._models.get(model, _Model())
        found = None
        for server in self._looked_at(own):
            if server != but and self._is_open(server, now_ns):
                rank = (self._expected_ns(own, server, now_ns), own.last.get(server, 0))
                found = min(found, (rank, server)) if found else (rank, server)
        if found is not None:
            return found[1]
        others = [server for server in own.servers if server != but]
        return min(
            others, key=lambda s: (not self._is_open(s, now_ns), self._rank(s)), default=None
        )

    def _rank(self, server: int) -> tuple[int, int]:
        return self._servers[server].until_ns, self._servers[server].in_flight

    def _looked_at(self, own: _Model) -> list[int]:
        looks, count = self._params.looks, len(own.servers)
        if count <= looks:
            return own.servers
        own.turn = (own.turn + looks) % count
        return [own.servers[(own.turn + k) % count] for k in range(looks)]

    def _is_open(self, server: int, now_ns: int) -> bool:
        own = self._servers[server]
        return own.until_ns <= now_ns and not (own.last_eject_ns and own.trial)

    def _expected_ns(self, own: _Model, server: int, now_ns: int) -> float:
        """Of a server that never answered, by the mean pace of the others."""
        before = self._servers[server].in_flight
        known = own.pace.get(server)
        if known is None:
            return (before + 1) * fmean(p.ns for p in own.pace.values()) if own.pace else before
        fade = 2.0 ** (-max(0, now_ns - known.learnt_ns) / _FADE_NS)
        return (before + 1) * known.ns * float(fade)

    def _begin(self, ticket: _Ticket) -> Sending:
        self._last += 1
        server = self._servers[ticket.server]
        ticket.before = server.in_flight
        server.in_flight += 1
        if server.last_eject_ns and not server.trial:
            server.trial = self._last
        self._models[ticket.model].last[ticket.server] = self._last
        self._tickets[self._last] = ticket
        return Sending(self._last, ticket.server)

    def _end(self, ticket: int) -> _Ticket:
        ended = self._tickets.pop(ticket)
        server = self._servers[ended.server]
        server.in_flight -= 1
        if server.trial == ticket:
            server.trial = 0
        return ended
