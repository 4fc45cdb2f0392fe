"""What bench batching_served makes of runs: deadlines lost, rows of a call."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.models.batching_served import AtRate, late_of, mean_rows, table_row, turns
from bench.models.batching_servers import AS_THEY_COME, DELAYED, OFF, TRITON
from surplus.loadgen.distribution import percentile_curve
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import summarise


def result(latencies_ns: np.ndarray, failed: int = 0) -> dict:
    recorder = Recorder()
    for place, latency_ns in enumerate(latencies_ns.tolist()):
        recorder.finish(recorder.begin(place, place), place + latency_ns)
    for _ in range(failed):
        recorder.finish(recorder.begin(10**6, 10**6), 10**6 + 1, "UNAVAILABLE")
    records = recorder.records()
    summary = summarise(records, True).to_dict()
    return {"summary": summary, "percentiles": percentile_curve(records)}


@pytest.mark.parametrize("late", [0, 1, 10, 200, 3000])
def test_late_queries_are_counted_by_the_curve(late: int) -> None:
    latencies_ns = np.random.default_rng(0).permutation(np.arange(1, 10_001))
    counted = late_of(result(latencies_ns), 10_000 - late)
    assert late <= counted <= 1 + late * 1.1


def test_failed_queries_are_late_and_so_are_all_where_none_is_in_time() -> None:
    assert late_of(result(np.full(10, 5), failed=3), 5) == 3
    assert late_of(result(np.full(10, 5), failed=3), 4) == 13
    assert late_of(result(np.zeros(0, np.int64), failed=3), 4) == 3


def test_rows_are_those_of_the_calls_in_between() -> None:
    assert mean_rows({1: 10, 2: 5}, {1: 12, 2: 5, 4: 6}) == (2 * 1 + 6 * 4) / 8
    assert math.isnan(mean_rows({1: 3}, {1: 3}))
    assert math.isnan(mean_rows({}, {}))


def test_ways_begin_in_turn() -> None:
    assert list(turns("ab", 2)) == [(0, "a"), (0, "b"), (1, "b"), (1, "a")]


def test_what_is_lost_is_of_the_same_round() -> None:
    rates = {OFF: [100.0], DELAYED: [150.0], AS_THEY_COME: [80.0]}
    runs = {
        OFF: [AtRate(1000, 10, 1.0), AtRate(1000, 4, 1.0), AtRate(1000, 9, 1.0)],
        DELAYED: [AtRate(1000, 12, 3.0), AtRate(1000, 5, 2.5), AtRate(1000, 29, 4.0)],
        AS_THEY_COME: [AtRate(1000, 2, math.nan)] * 3,
    }
    row = table_row("m", 50.0, rates, runs)
    assert (row["one by one late"], row["with a delay late"]) == (9, 12)
    assert (row["with a delay lost"], row["as they come lost"]) == (2, -7)
    assert row["with a delay rows a call"] == 3.0
    assert row["queries at one by one's rate"] == 1000
    assert row["a delay over one by one"] == 1.5
    assert math.isnan(row["a delay over Triton"])
    assert f"{TRITON} late" not in row
