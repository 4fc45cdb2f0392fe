"""What a schedule that knows the future holds: hand-worked, and against all schedules of few."""

from __future__ import annotations

from itertools import permutations

import pytest

from bench.neighbours.clairvoyant import AskedQuery, clairvoyant_holds, clairvoyant_work_ns

FEW = [
    AskedQuery("a", 0, 10, 6),
    AskedQuery("b", 2, 8, 4),
    AskedQuery("a", 3, 30, 5),
    AskedQuery("c", 4, 9, 5),
]


def test_work_of_two_that_cannot_both_be_in_time() -> None:
    both = [AskedQuery("a", 0, 10, 8), AskedQuery("b", 0, 10, 8)]
    assert clairvoyant_work_ns(both, 1) == 10
    assert clairvoyant_work_ns(both, 2) == 16
    assert clairvoyant_holds(both, 2, 0.0)
    assert not clairvoyant_holds(both, 1, 0.25)
    assert clairvoyant_holds(both, 1, 0.375)


def test_no_order_does_more_in_time() -> None:
    bound = clairvoyant_work_ns(FEW, 1)
    for order in permutations(FEW):
        now = done = 0
        for query in order:
            end = max(now, query.arrival_ns) + query.service_ns
            if end <= query.due_ns:
                now, done = end, done + query.service_ns
        assert done <= bound


def test_one_model_may_be_what_does_not_fit() -> None:
    queries = [AskedQuery("tight", 0, 5, 10), *(AskedQuery("loose", 0, 10_000, 10),) * 99]
    assert clairvoyant_work_ns(queries, 1) >= 0.99 * 1000
    assert not clairvoyant_holds(queries, 1, 0.01)
    assert clairvoyant_holds(queries[1:], 1, 0.0)


def test_nobody_asks() -> None:
    assert clairvoyant_work_ns([], 1) == 0
    assert clairvoyant_holds([], 1)


def test_what_makes_no_sense_is_named() -> None:
    with pytest.raises(ValueError, match="cores must be >= 1, got 0"):
        clairvoyant_work_ns(FEW, 0)
    with pytest.raises(ValueError, match="service_ns must be >= 1, got 0"):
        clairvoyant_work_ns([AskedQuery("a", 0, 1, 0)], 1)
    with pytest.raises(ValueError, match=r"misses must be 0 to 1, got 1\.5"):
        clairvoyant_holds(FEW, 1, 1.5)
