"""Runs what a policy will run before it counts: sessions open, memory is taken, replays recorded.

What a policy will run is seen in its simulation. Live times differ, and with them where it cuts,
how many queries it batches and which versions it chooses: if it cuts a model in one place there,
any model in any place is rehearsed, and where it batches queries, any number of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count
from typing import NamedTuple

from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Partition, Service
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.simulation.simulator import Run
from surplus.engine.errors import ExecutionError
from surplus.engine.scheduling.backend import EngineBackend


class RehearsedPart(NamedTuple):
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


def rehearse(backend: EngineBackend, run: Run, load: Load, services: Sequence[Service]) -> None:
    """Run what a simulated run shows, in each kind of partition what has a place there.

    Raises
    ------
    ExecutionError
        If a group fails.
    """
    record, partitions = run.record, run.deployment.partitions
    where = [record.group_partition[group] for group in record.piece_group]
    placed = {(partitions[a.partition], a.service) for a in run.deployment.assignments}
    placed |= {(partitions[k], s) for k, s in zip(where, record.piece_service, strict=True)}
    parts = parts_of(record, load, services)
    kinds = dict.fromkeys(partitions)
    run_parts(backend, {p: [own for own in parts if (p, own.service) in placed] for p in kinds})


def parts_of(record: Record, load: Load, services: Sequence[Service]) -> list[RehearsedPart]:
    """Each kind of piece that a run had, in the order in which they came first."""
    found: dict[RehearsedPart, None] = {}
    together = Counter(record.piece_group)
    for piece, service in enumerate(record.piece_service):
        first, number = record.piece_first[piece], record.piece_count[piece]
        items = load.items[list(record.piece_query[first : first + number])]
        own = tuple(sorted(items.tolist()))
        group = record.piece_group[piece]
        kind = (record.group_cores[group], together[group])
        part = RehearsedPart(
            service, own, record.piece_start[piece], record.piece_end[piece], *kind
        )
        found[part] = None
    found = dict.fromkeys(one for part in found for one in _batches(part, services))
    if all((part.start, part.end) == (0, services[part.service].operators) for part in found):
        return list(found)
    return list(dict.fromkeys(cut for part in found for cut in _cuts(part, services)))


def _batches(part: RehearsedPart, services: Sequence[Service]) -> Iterator[RehearsedPart]:
    """A part with any number of queries, if it has several that are alike."""
    own = part.items[0]
    if len(part.items) == 1 or part.items != (own,) * len(part.items):
        yield part
        return
    for number in range(1, max(services[part.service].max_batch // own, len(part.items)) + 1):
        yield part._replace(items=(own,) * number)


def _cuts(part: RehearsedPart, services: Sequence[Service]) -> Iterator[RehearsedPart]:
    """All stretches of a part's model."""
    for start, end in combinations(range(services[part.service].operators + 1), 2):
        yield part._replace(start=start, end=end)


def run_parts(backend: EngineBackend, parts: Mapping[Partition, Sequence[RehearsedPart]]) -> None:
    """Run parts in their partitions, in every version of their models.

    Raises
    ------
    ExecutionError
        If a group fails.
    """
    ids = count()
    backend.prepare(list(parts))
    for place, own in enumerate(parts.values()):
        for part in own:
            for version in range(backend.models[part.service].versions):
                _rehearse_part(backend, place, part, version, ids)


def _rehearse_part(
    backend: EngineBackend, place: int, part: RehearsedPart, version: int, ids: Iterator[int]
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
    part: RehearsedPart,
    version: int,
    group: int,
) -> None:
    """Run a group of as many such pieces as the part had company."""
    pieces = tuple(piece_of(queries, part.start, part.end) for queries in batches)
    backend.start(Group(group, place, pieces, 0, 0, part.cores, version))
    (ended,) = backend.wait(None)
    if ended.error:
        raise ExecutionError(f"a group failed before the load began: {ended.error}")
