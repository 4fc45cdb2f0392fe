"""Runs what a policy will run before it counts: sessions open, memory is taken, replays recorded.

What a policy will run is seen in its simulation: whole batches, or the parts that it cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from colocation.load import Load
from colocation.query import Query
from colocation.record import Record
from colocation.service import Partition
from colocation.work import Group, piece_of
from engine.errors import ExecutionError
from engine.live.backend import EngineBackend


class Part(NamedTuple):
    """A piece, without its queries: how many items each brings, and which operators run.

    ``cores`` are those that its group claimed, 0 if it held its partition.
    """

    service: int
    items: tuple[int, ...]
    start: int
    end: int
    cores: int = 0


def parts_of(record: Record, load: Load) -> list[Part]:
    """Each kind of piece that a run had, in the order in which they came first."""
    found: dict[Part, None] = {}
    for piece, service in enumerate(record.piece_service):
        first, number = record.piece_first[piece], record.piece_count[piece]
        items = load.items[list(record.piece_query[first : first + number])]
        own = tuple(sorted(items.tolist()))
        cores = record.group_cores[record.piece_group[piece]]
        part = Part(service, own, record.piece_start[piece], record.piece_end[piece], cores)
        found[part] = None
    return list(found)


def rehearse(
    backend: EngineBackend, partitions: Sequence[Partition], parts: Sequence[Part]
) -> None:
    """Run each part in each kind of partition.

    Raises
    ------
    ExecutionError
        If a group fails.
    """
    ids = count()
    kinds = list(dict.fromkeys(partitions))
    backend.prepare(kinds)
    for place in range(len(kinds)):
        for part in parts:
            queries = tuple(Query(next(ids), part.service, 0, 0, 0, own) for own in part.items)
            if part.start:
                _run(backend, place, queries, part._replace(start=0, end=part.start), next(ids))
            _run(backend, place, queries, part, next(ids))
            for query in queries:
                backend.forget(query)


def _run(
    backend: EngineBackend, place: int, queries: tuple[Query, ...], part: Part, group: int
) -> None:
    piece = piece_of(queries, part.start, part.end)
    backend.start(Group(group, place, (piece,), 0, 0, part.cores))
    (ended,) = backend.wait(None)
    if ended.error:
        raise ExecutionError(f"a group failed before the load began: {ended.error}")
