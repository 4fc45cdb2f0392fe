"""How a service stands on the shares that it may have: what it holds, how long it can wait."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.service import Service
from surplus.colocation.policies.surplus.batch_times import BatchTimes
from surplus.colocation.policies.surplus.blocking import Patience
from surplus.colocation.policies.surplus.rooms import SharePlace


def good_work(
    times: BatchTimes, index: int, service: Service, items: int, places: Sequence[SharePlace]
) -> float:
    """Percent times ns of a query, in the largest batch that may follow another one like it.

    Parameters
    ----------
    index : int
        Of the service.
    items : int
        Of a query.
    places : sequence of SharePlace
        Not empty.
    """
    works = []
    for place in places:
        row = times.row(index, items, 0, place.share_percent, place.batch)
        count = sum(2 * took_ns <= service.slo_ns for took_ns in row) or 1
        works.append(place.share_percent * row[count - 1] / count)
    return min(works)


def patience_of(
    times: BatchTimes, index: int, service: Service, items: int, places: Sequence[SharePlace]
) -> Patience:
    """How long a query can wait for the fastest of its shares; parameters as of ``good_work``."""
    alone_ns = min(times.row(index, items, 0, p.share_percent, items)[0] for p in places)
    return Patience(max(0, service.slo_ns - alone_ns), index, places[0].share_percent)
