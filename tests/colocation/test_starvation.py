"""Waits of services, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.results.starvation import longest_waits_ns, starved

MOST_NS = 1000


def load_of(*arrivals: list[int]) -> Load:
    """Queries of one item, by service."""
    streams = [
        Stream(np.array(own, np.int64), np.ones(len(own), np.int64), np.zeros(len(own), np.int64))
        for own in arrivals
    ]
    return merge(streams, [MOST_NS] * len(arrivals), MOST_NS)


def record_of(load: Load, begins: dict[int, int], drops: dict[int, int]) -> Record:
    record = Record(len(load))
    queries: list[Query] = list(load.queries())
    for number, (query, when_ns) in enumerate(begins.items()):
        record.group_started(Group(number, 0, (piece_of((queries[query],), 0, 1),), when_ns, 0))
    for query, when_ns in drops.items():
        record.ended(queries[query], Outcome.DROPPED, when_ns)
    return record


@pytest.mark.parametrize(
    ("begins", "drops", "wait_ns"),
    [
        ({0: 10, 1: 30, 2: 35}, {}, 19),  # each begin ends a wait, the queue never empties
        ({0: 10, 1: 12, 2: 35}, {}, 13),  # empty from 12 to 22
        ({0: 10, 2: 60}, {1: 40}, 49),  # a drop does not end it
        ({0: 10}, {1: 11}, MOST_NS - 22),  # the last one waits to the end
        ({0: 10, 1: 11, 2: 22}, {}, 0),  # at once
    ],
)
def test_the_longest_wait(begins: dict[int, int], drops: dict[int, int], wait_ns: int) -> None:
    load = load_of([10, 11, 22])
    assert longest_waits_ns(record_of(load, begins, drops), load, 1) == (wait_ns,)


def test_services_are_apart_and_named() -> None:
    load = load_of([0, 5], [3])
    record = record_of(load, {0: 0, 1: 3, 2: 95}, {})
    waits_ns = longest_waits_ns(record, load, 2)
    assert waits_ns == (90, 0)
    services = [Service("short", 80), Service("idle", 80)]
    assert starved(waits_ns, services) == ["short"]
