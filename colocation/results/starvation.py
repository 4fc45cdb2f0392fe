"""How long a service waits while it has queries and none of them begins.

The rule for "starved": longer than the service's latency target. A query that comes when such a
wait begins cannot be answered in time, whatever happens after it; a service that is merely late is
still served query after query. Dropping a query does not end a wait, beginning one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from surplus.colocation.frame.load import Load
from surplus.colocation.frame.record import NEVER_NS, Record
from surplus.colocation.frame.service import Service

_ARRIVES, _BEGINS, _LEAVES = range(3)
"""Order of what happens to a service at one instant."""

Times = npt.NDArray[np.int64]


def longest_waits_ns(record: Record, load: Load, services: int) -> tuple[int, ...]:
    """Longest time in which each service had queries waiting and began none of them."""
    began_ns = _began_ns(record, len(load))
    ended_ns = np.frombuffer(record.ended_ns, np.int64)
    last_ns = max(load.duration_ns, int(ended_ns.max(initial=0)))
    until_ns = np.where(began_ns != NEVER_NS, began_ns, ended_ns)
    until_ns = np.where(until_ns == NEVER_NS, last_ns, until_ns)
    kinds = np.where(began_ns != NEVER_NS, _BEGINS, _LEAVES)
    return tuple(
        _longest_ns(load.arrival_ns[own], until_ns[own], kinds[own])
        for own in (load.service == service for service in range(services))
    )


def starved(waits_ns: Sequence[int], services: Sequence[Service]) -> list[str]:
    """Names of the services that waited longer than their targets."""
    both = zip(waits_ns, services, strict=True)
    return [service.name for wait_ns, service in both if wait_ns > service.slo_ns]


def _began_ns(record: Record, queries: int) -> Times:
    """When each query's first group began; ``NEVER_NS`` where none did."""
    found = np.full(queries, NEVER_NS, np.int64)
    members = np.frombuffer(record.piece_query, np.int64)
    for piece in reversed(range(len(record.piece_group))):
        first, count = record.piece_first[piece], record.piece_count[piece]
        own_ns = record.group_start_ns[record.piece_group[piece]]
        found[members[first : first + count]] = own_ns
    return found


def _longest_ns(arrival_ns: Times, until_ns: Times, kinds: npt.NDArray[np.int_]) -> int:
    events: Iterable[tuple[int, int]] = sorted(
        [(when_ns, _ARRIVES) for when_ns in arrival_ns.tolist()]
        + list(zip(until_ns.tolist(), kinds.tolist(), strict=True))
    )
    waiting = longest_ns = since_ns = 0
    for when_ns, kind in events:
        if kind == _ARRIVES:
            since_ns = since_ns if waiting else when_ns
            waiting += 1
            continue
        longest_ns = max(longest_ns, when_ns - since_ns)
        since_ns = when_ns if kind == _BEGINS else since_ns
        waiting -= 1
    return longest_ns
