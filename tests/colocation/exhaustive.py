"""The most queries of a tiny load that any schedule of whole batches answers in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import WHOLE_PPM, Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.simulation.simulator import Setting

SHARES = (1, 50, 100)
"""Percent that batches may hold."""


class _Running(NamedTuple):
    end_ns: int
    device: int
    held_ppm: int


class _Choice(NamedTuple):
    """How a batch may run: its time, what it holds."""

    queries: tuple[Query, ...]
    device: int
    took_ns: int
    held_ppm: int


def most_in_time(setting: Setting) -> int:
    """Try all batches, in all orders, on a few shares and numbers of cores; none that is late."""
    queries = frozenset(setting.load.queries())
    return _best(setting, queries, (), 0)


def _best(
    setting: Setting, left: frozenset[Query], running: tuple[_Running, ...], now_ns: int
) -> int:
    """Batches begin in order, each as early as its queries and its device allow."""
    best = 0
    for choice in _choices(setting, left):
        start_ns = _earliest_ns(choice, running, now_ns)
        end_ns = start_ns + choice.took_ns
        if end_ns > min(query.deadline_ns for query in choice.queries):
            continue
        after = (*running, _Running(end_ns, choice.device, choice.held_ppm))
        rest = left - frozenset(choice.queries)
        best = max(best, len(choice.queries) + _best(setting, rest, after, start_ns))
        if best == len(left):
            break
    return best


def _choices(setting: Setting, left: frozenset[Query]) -> Iterator[_Choice]:
    services = setting.demand.services
    for size in range(1, len(left) + 1):
        for batch in combinations(sorted(left), size):
            own = services[batch[0].service]
            alike = all(query.service == batch[0].service for query in batch)
            if alike and sum(query.items for query in batch) <= own.max_batch:
                yield from _ways(setting, batch)


def _ways(setting: Setting, batch: tuple[Query, ...]) -> Iterator[_Choice]:
    """Shares of a device, or some of its cores; whoever is luckiest stands first."""
    operators = setting.demand.services[batch[0].service].operators
    firsts = [(first, *(q for q in batch if q is not first)) for first in batch]
    for device, own in enumerate(setting.demand.devices):
        shares = [(Partition(device, share), 0) for share in SHARES]
        whole = Partition(device, 100, cores=own.cores)
        counts = sorted({1, own.cores // 2, own.cores} - {0}) if own.cores else []
        for partition, cores in (*shares, *((whole, count) for count in counts)):
            share_percent = partition.share_of(cores)
            groups = [
                Group(0, 0, (piece_of(row, 0, operators),), 0, 0, cores, 0, share_percent)
                for row in firsts
            ]
            try:
                took_ns = min(setting.truth.group_ns(group, share_percent) for group in groups)
            except ValueError:
                continue
            yield _Choice(batch, device, took_ns, partition.held_ppm(cores))


def _earliest_ns(choice: _Choice, running: tuple[_Running, ...], now_ns: int) -> int:
    """When the queries are there and the device has what the batch holds."""
    start_ns = max(now_ns, *(query.arrival_ns for query in choice.queries))
    ends = sorted(row.end_ns for row in running if row.end_ns > start_ns)
    for when_ns in (start_ns, *ends):
        held = sum(
            row.held_ppm for row in running if row.device == choice.device and row.end_ns > when_ns
        )
        if held + choice.held_ppm <= WHOLE_PPM:
            return when_ns
    raise AssertionError("a device that runs nothing has no room")
