"""Runs everything once before it counts: sessions are opened, memory is taken, replays recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from colocation.query import Query
from colocation.scenario import Scenario
from colocation.service import Partition
from colocation.work import Group, piece_of
from engine.errors import ExecutionError
from engine.live.backend import EngineBackend


def rehearse(scenario: Scenario, partitions: Sequence[Partition], backend: EngineBackend) -> None:
    """Run each service in each kind of partition: every batch whole, single queries in all parts.

    Raises
    ------
    ExecutionError
        If a group fails.
    """
    ids = count()
    kinds = list(dict.fromkeys(partitions))
    backend.prepare(kinds)
    for place in range(len(kinds)):
        for service, tenant in enumerate(scenario.tenants):
            whole = tenant.service.operators
            for queries in _batches(ids, service, tenant.items, tenant.service.max_batch):
                _run(backend, Group(next(ids), place, (piece_of(queries, 0, whole),), 0, 0))
            for items in tenant.items:
                for first, last in _stretches(whole):
                    query = (Query(next(ids), service, 0, 0, 0, items),)
                    if first:
                        _run(backend, Group(next(ids), place, (piece_of(query, 0, first),), 0, 0))
                    _run(backend, Group(next(ids), place, (piece_of(query, first, last),), 0, 0))
                    backend.forget(query[0])


def _batches(
    ids: Iterator[int], service: int, items: Sequence[int], most: int
) -> Iterator[tuple[Query, ...]]:
    """Queries of every number of items that can come together."""
    ways: dict[int, tuple[int, ...]] = {0: ()}
    for total in range(1, most + 1):
        for own in items:
            if total - own in ways:
                ways[total] = (*ways[total - own], own)
    for way in ways.values():
        if way:
            yield tuple(Query(next(ids), service, 0, 0, 0, own) for own in way)


def _stretches(operators: int) -> Iterator[tuple[int, int]]:
    for first in range(operators):
        for last in range(first + 1, operators + 1):
            if (first, last) != (0, operators):
                yield first, last


def _run(backend: EngineBackend, group: Group) -> None:
    backend.start(group)
    (ended,) = backend.wait(None)
    if ended.error:
        raise ExecutionError(f"a group failed before the load began: {ended.error}")
