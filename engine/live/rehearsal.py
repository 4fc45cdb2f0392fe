"""Runs what a policy will run before it counts: sessions open, memory is taken, replays recorded.

What a policy will run is seen in its simulation. If it cuts a model in one place there, it will cut
any model in any place live: times differ, and so do the cuts, and the versions that it chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, count
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

    ``cores`` are those that its group claimed, 0 if it held its partition; ``together`` is how many
    pieces the group had.
    """

    service: int
    items: tuple[int, ...]
    start: int
    end: int
    cores: int = 0
    together: int = 1


def parts_of(record: Record, load: Load, operators: Sequence[int]) -> list[Part]:
    """Each kind of piece that a run had, in the order in which they came first.

    Parameters
    ----------
    operators : sequence of int
        Of each service.
    """
    found: dict[Part, None] = {}
    together = Counter(record.piece_group)
    for piece, service in enumerate(record.piece_service):
        first, number = record.piece_first[piece], record.piece_count[piece]
        items = load.items[list(record.piece_query[first : first + number])]
        own = tuple(sorted(items.tolist()))
        group = record.piece_group[piece]
        kind = (record.group_cores[group], together[group])
        part = Part(service, own, record.piece_start[piece], record.piece_end[piece], *kind)
        found[part] = None
    if all((part.start, part.end) == (0, operators[part.service]) for part in found):
        return list(found)
    return list(dict.fromkeys(cut for part in found for cut in _cuts(part, operators)))


def _cuts(part: Part, operators: Sequence[int]) -> Iterator[Part]:
    """All stretches of a part's model."""
    for start, end in combinations(range(operators[part.service] + 1), 2):
        yield part._replace(start=start, end=end)


def rehearse(
    backend: EngineBackend, partitions: Sequence[Partition], parts: Sequence[Part]
) -> None:
    """Run each part in each kind of partition, in every version of its model.

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
            for version in range(backend.models[part.service].versions):
                _rehearse_part(backend, place, part, version, ids)


def _rehearse_part(
    backend: EngineBackend, place: int, part: Part, version: int, ids: Iterator[int]
) -> None:
    batches = [
        tuple(Query(next(ids), part.service, 0, 0, 0, own) for own in part.items)
        for _ in range(part.together)
    ]
    if part.start:
        _run(backend, place, batches, part._replace(start=0, end=part.start), version, next(ids))
    _run(backend, place, batches, part, version, next(ids))
    for query in (query for batch in batches for query in batch):
        backend.forget(query)


def _run(
    backend: EngineBackend,
    place: int,
    batches: Sequence[tuple[Query, ...]],
    part: Part,
    version: int,
    group: int,
) -> None:
    """Run a group of as many such pieces as the part had company."""
    pieces = tuple(piece_of(queries, part.start, part.end) for queries in batches)
    backend.start(Group(group, place, pieces, 0, 0, part.cores, version))
    (ended,) = backend.wait(None)
    if ended.error:
        raise ExecutionError(f"a group failed before the load began: {ended.error}")
