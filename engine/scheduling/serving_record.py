"""The record of a server: counts what happens, and keeps none of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.work import Group


class QueryEnd(NamedTuple):
    """How a query ended; ``predicted_end_ns`` of one that was dropped for it."""

    query: Query
    outcome: Outcome
    when_ns: int
    predicted_end_ns: int | None = None


class ServingRecord(Record):
    """Tells of each query's end, once.

    Parameters
    ----------
    services : int
    tell : callable

    Attributes
    ----------
    queued_ns : list of int
        By service: what queries waited in all before their first group began.
    """

    def __init__(self, services: int, tell: Callable[[QueryEnd], None]) -> None:
        super().__init__(0)
        self.queued_ns = [0] * services
        self._tell = tell
        self._predicted_ns: dict[int, int] = {}

    def ended(self, query: Query, outcome: Outcome, when_ns: int) -> None:
        """Tell of it."""
        predicted_ns = self._predicted_ns.pop(query.id, None)
        self._tell(QueryEnd(query, outcome, when_ns, predicted_ns))

    def missed(self, query: Query, predicted_end_ns: int) -> None:
        """Keep the prediction until the end is booked, which is at once."""
        self._predicted_ns[query.id] = predicted_end_ns

    def group_started(self, group: Group) -> None:
        """Count what its queries waited."""
        for piece in group.pieces:
            if piece.start == 0:
                waited_ns = sum(group.start_ns - query.arrival_ns for query in piece.queries)
                self.queued_ns[piece.service] += waited_ns

    def group_ended(self, group: Group, when_ns: int) -> None:
        """Nothing to keep."""

    def opened(self, view: Deployment, when_ns: int) -> None:
        """Nothing to keep."""

    def changed(self, change: Change, when_ns: int) -> None:
        """Nothing to keep."""
