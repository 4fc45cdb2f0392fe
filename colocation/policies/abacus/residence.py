"""Which partition a query belongs to, once it has begun there or is planned for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Piece


class Residence:
    """Partitions of queries by index; those that are not here may run anywhere.

    References
    ----------
    Abacus (SC'21), section 6.1: the executor of a device saves the results of queries that ran in
    part, and goes on from them; no other device has them.
    """

    def __init__(self) -> None:
        self._place: dict[int, int] = {}

    def first(self, waiting: Iterable[Query], partition: int) -> Query | None:
        """The first of some queries that may run in a partition."""
        place = self._place
        return next((q for q in waiting if place.get(q.id, partition) == partition), None)

    def stranded(self, waiting: Iterable[Query], partitions: frozenset[int]) -> Iterator[Query]:
        """Yield queries that belong to none of some partitions."""
        place = self._place
        return (q for q in waiting if q.id in place and place[q.id] not in partitions)

    def settle(self, pieces: Iterable[Piece], partition: int) -> None:
        """Bind the queries of pieces to a partition."""
        for piece in pieces:
            for query in piece.queries:
                self._place[query.id] = partition

    def leave(self, queries: Iterable[Query]) -> None:
        """Forget queries; those that are not here are passed over."""
        for query in queries:
            self._place.pop(query.id, None)
