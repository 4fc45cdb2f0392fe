"""Priorities that repeat a periodic schedule's order."""

import pytest

from surplus.placement import SpanKind, make_policy
from surplus.placement.periodic import periodic_schedule
from surplus.placement.periodic_order import in_periodic_order
from surplus.placement.random_graphs import DetectorParams, detector
from tests.placement.featured_problems import featured, placed


@pytest.mark.parametrize("seed", range(20))
def test_tasks_have_the_priorities_of_their_starts(seed: int) -> None:
    problem = featured(seed, 2 + seed % 9)
    placement = placed(problem, seed)
    schedule = periodic_schedule(problem, placement)
    found = in_periodic_order(placement, schedule)
    assert found.device_of == placement.device_of
    found.check(problem)
    starts = {s.index: s.start_ns for s in schedule.timeline if s.kind is not SpanKind.COPY}
    in_order = sorted(starts, key=lambda task: found.priority[task])
    assert [starts[task] for task in in_order] == sorted(starts.values())


def test_it_is_another_order_than_that_of_a_query_alone() -> None:
    problem = detector(1, DetectorParams(6, 1, 8, 2))
    placement = make_policy("balance").place(problem)
    found = in_periodic_order(placement, periodic_schedule(problem, placement))
    assert found.priority != placement.priority
