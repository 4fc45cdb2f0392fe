"""When a query would end behind those that are due before it, and whom it harms."""

from __future__ import annotations

import pytest

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Queue
from surplus.colocation.policies.surplus.backlog import Backlog

BACKLOG = Backlog(now_ns=1000, held=2000.0, percent=100.0, works=(500.0, 3000.0), alone_ns=(5, 30))


def queues(*dues: tuple[int, int]) -> tuple[list[Query], list[Queue]]:
    """Queries of (service, deadline), in the queues of two services."""
    queries = [Query(k, service, k, 0, due_ns) for k, (service, due_ns) in enumerate(dues)]
    waiting = [Queue(), Queue()]
    for query in queries:
        waiting[query.service].add(query)
    return queries, waiting


def test_a_query_ends_behind_what_runs_and_what_is_due_before_it() -> None:
    queries, waiting = queues((0, 1040), (0, 1060), (1, 1050), (1, 1070))
    assert BACKLOG.end_ns(queries[0], waiting) == pytest.approx(1000 + 20 + 5)
    assert BACKLOG.end_ns(queries[1], waiting) == pytest.approx(1000 + 20 + 5 + 30 + 5)
    assert BACKLOG.end_ns(queries[2], waiting) == pytest.approx(1000 + 20 + 5 + 30)


@pytest.mark.parametrize(("due_ns", "harmed"), [(1054, True), (1056, False), (1049, False)])
def test_it_harms_who_is_in_time_only_without_it(due_ns: int, harmed: bool) -> None:
    queries, waiting = queues((0, 1040), (1, due_ns))  # ends at 1050 alone, at 1055 behind it
    assert BACKLOG.harms(queries[0], waiting) == harmed


def test_it_harms_nobody_who_is_due_before_it() -> None:
    queries, waiting = queues((0, 2000), (1, 1054))
    assert not BACKLOG.harms(queries[0], waiting)
