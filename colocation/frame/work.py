"""What is handed to an executor: a batch of one service, and groups of such batches."""

from __future__ import annotations

from typing import NamedTuple

from surplus.colocation.frame.query import Query


class Piece(NamedTuple):
    """A batch of queries of one service, and the operators of it that are to run.

    Parameters
    ----------
    service : int
    queries : tuple of Query
        They are at the same operator; never empty.
    start, end : int
        Operators ``start <= i < end`` run; a query is answered when ``end`` is the last.
    items : int
        Sum over the queries.
    sequence : int
        The longest of the queries.
    """

    service: int
    queries: tuple[Query, ...]
    start: int
    end: int
    items: int
    sequence: int


def piece_of(queries: tuple[Query, ...], start: int, end: int) -> Piece:
    """Make a piece of queries of one service."""
    first = queries[0]
    if len(queries) == 1:
        return Piece(first.service, queries, start, end, first.items, first.sequence)
    items = sum(query.items for query in queries)
    return Piece(first.service, queries, start, end, items, max(q.sequence for q in queries))


class Group(NamedTuple):
    """Pieces of different services that run side by side in one partition, and end together.

    Abacus's operator group; most policies run groups of one piece.

    Parameters
    ----------
    id : int
        Counts the groups of a run.
    partition : int
    pieces : tuple of Piece
    start_ns : int
    predicted_ns : int
        How long the policy thinks that it takes; 0 where it did not say.
    cores : int
        That it claims of its partition; 0 where it holds the whole share.
    version : int
        Which of the versions of its operators runs.
    share_percent : int
        Of its device, that its partition is.
    """

    id: int
    partition: int
    pieces: tuple[Piece, ...]
    start_ns: int
    predicted_ns: int
    cores: int = 0
    version: int = 0
    share_percent: int = 100
