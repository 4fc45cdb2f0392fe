"""Buckets of the core's histograms, and what is read from them."""

from __future__ import annotations

import math

import pytest

from surplus.engine import _core
from surplus.engine.serving.histogram import BOUNDS_US, Histogram, QueryHistograms


def whole_of(*durations_ns: int) -> Histogram:
    times = _core.QueryTimes()
    for duration_ns in durations_ns:
        times.add(duration_ns, duration_ns, 0)
    return QueryHistograms.of(times.rows()).whole


def test_bounds_are_two_an_octave() -> None:
    assert BOUNDS_US[:6] == (16, 24, 32, 48, 64, 96)
    assert all(later == 2 * bound for bound, later in zip(BOUNDS_US, BOUNDS_US[2:], strict=False)
               if bound != 16)  # fmt: skip
    assert BOUNDS_US[-1] == 2**26


@pytest.mark.parametrize("place", range(len(BOUNDS_US)))
def test_a_bound_is_of_its_own_bucket_and_what_follows_of_the_next(place: int) -> None:
    bound_ns = BOUNDS_US[place] * 1000
    assert whole_of(bound_ns).counts[place] == 1
    assert whole_of(bound_ns + 1).counts[place + 1] == 1


@pytest.mark.parametrize(("duration_ns", "place"), [(-5, 0), (0, 0), (1, 0), (2**62, -1)])
def test_what_is_beyond_the_ends_is_in_them(duration_ns: int, place: int) -> None:
    assert whole_of(duration_ns).counts[place] == 1


def test_a_wait_that_is_not_known_is_that_of_the_one_before() -> None:
    times = _core.QueryTimes()
    for waited_ns in (300_000, -1, -1):
        times.add(1_000_000, 900_000, waited_ns)
    found = QueryHistograms.of(times.rows())
    assert (found.queue.count, found.queue.total_ns) == (3, 900_000)
    assert (found.compute.count, found.compute.total_ns) == (3, 1_800_000)
    assert found.whole.total_ns == 3_000_000


def test_a_query_computes_for_no_less_than_nothing() -> None:
    times = _core.QueryTimes()
    times.add(1_000_000, 100_000, 800_000)
    found = QueryHistograms.of(times.rows())
    assert (found.queue.total_ns, found.compute.total_ns) == (100_000, 0)


def test_percentiles_are_bounds() -> None:
    found = whole_of(*[10_000] * 98, 900_000, 2**40)
    assert found.percentile_s(50) == 16e-6
    assert found.percentile_s(99) == 1024e-6
    assert found.percentile_s(100) == math.inf
    assert Histogram().percentile_s(99) is None


def test_histograms_add_up() -> None:
    both = whole_of(10_000, 50_000) + whole_of(50_000)
    assert both == whole_of(10_000, 50_000, 50_000)
    assert both.total_s == pytest.approx(110e-6)
