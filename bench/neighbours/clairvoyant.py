"""What a schedule that knows the future holds of given queries: an upper bound.

It may interrupt queries at no cost and spread one over all cores, so nobody does better; whoever
keeps a query on one core at a time may do worse. Works that can be done within windows are a
polymatroid whose rank is the most work (colocation/clairvoyant/most_work.py), so that
demands of several models can be met together just if, for each set of these models, the most work
of their queries is not below what the set demands (Rado 1942).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from surplus.colocation.clairvoyant.most_work import most_work


class AskedQuery(NamedTuple):
    """A query of a recorded or simulated run, all in integer nanoseconds on one clock.

    Parameters
    ----------
    model : str
    arrival_ns, due_ns : int
        When it was meant to be sent, and when its answer is due.
    service_ns : int
        Its work on one core.
    """

    model: str
    arrival_ns: int
    due_ns: int
    service_ns: int


def clairvoyant_work_ns(queries: Iterable[AskedQuery], cores: int) -> int:
    """Most work that is done in time, in core nanoseconds: no schedule exceeds it.

    Parameters
    ----------
    cores : int
        At least one.

    Raises
    ------
    ValueError
        If there is no core, or a query takes no time.
    """
    if cores < 1:
        raise ValueError(f"cores must be >= 1, got {cores}")
    rows = sorted(queries, key=lambda query: query.arrival_ns)
    for query in rows:
        if query.service_ns < 1:
            raise ValueError(f"service_ns must be >= 1, got {query.service_ns}: {query}")
    opens = [query.arrival_ns for query in rows]
    closes = [max(query.due_ns, query.arrival_ns) for query in rows]
    return most_work(opens, closes, [query.service_ns for query in rows], cores)


def clairvoyant_holds(queries: Sequence[AskedQuery], cores: int, misses: float = 0.01) -> bool:
    """Whether every model could miss at most that share of its queries; no schedule holds more.

    Parameters
    ----------
    misses : float
        0 to 1, of each model's work.

    Raises
    ------
    ValueError
        As ``clairvoyant_work_ns``, or if the share is out of range.
    """
    if not 0 <= misses <= 1:
        raise ValueError(f"misses must be 0 to 1, got {misses}")
    return all(
        clairvoyant_work_ns(own, cores) >= (1 - misses) * sum(query.service_ns for query in own)
        for own in _unions(queries)
    )


def _unions(queries: Sequence[AskedQuery]) -> Iterator[list[AskedQuery]]:
    """The queries of each set of models."""
    models = sorted({query.model for query in queries})
    for size in range(1, len(models) + 1):
        for chosen in combinations(models, size):
            yield [query for query in queries if query.model in chosen]
