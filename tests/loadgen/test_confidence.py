"""Intervals of a run: whether they hold what they should, where queries are not independent."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.loadgen.confidence import confidence_of
from surplus.loadgen.distribution import percentile_curve, time_parts
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Records
from tests.loadgen.queue_model import queue_records

SERVICE_NS = 2_000_000
LOAD = LoadgenParams(60 * 10**9, 0, 10**9)


def _independent(latencies_ns, kind=None):
    intended = np.arange(len(latencies_ns), dtype=np.int64) * 1_000_000
    kind = np.zeros(len(latencies_ns), np.int16) if kind is None else kind
    return Records(intended, intended, intended + latencies_ns, kind, ("A",), 0)


@pytest.mark.parametrize("utilisation", [0.4, 0.8])
def test_intervals_hold_the_long_run_s_figures_of_a_queue(utilisation):
    """95 % of them should, of p99 somewhat fewer: chance alone fails once in a thousand."""
    rate_per_s = utilisation * 1e9 / SERVICE_NS
    long = queue_records(rate_per_s, SERVICE_NS, LoadgenParams(4000 * 10**9), 7)
    latencies = long.done_ns - long.intended_ns
    truth = {"mean_ns": latencies.mean(), "throughput_per_s": rate_per_s}
    truth |= {f"p{p}_ns": np.quantile(latencies, p / 100) for p in (50, 90, 99)}
    held = dict.fromkeys(truth, 0)
    for seed in range(60):
        found = confidence_of(queue_records(rate_per_s, SERVICE_NS, LOAD, seed))
        for name, value in truth.items():
            low, high = found.intervals[name]
            held[name] += low <= value <= high
    assert held.pop("p99_ns") >= 45
    assert min(held.values()) >= 50, held


def test_intervals_that_took_queries_for_independent_would_be_too_narrow():
    records = queue_records(0.9 * 1e9 / SERVICE_NS, SERVICE_NS, LOAD, 1)
    rows = records.measured()
    latencies = rows.done_ns - rows.intended_ns
    naive = 2 * 1.96 * latencies.std() / np.sqrt(len(latencies))
    low, high = confidence_of(records).intervals["mean_ns"]
    assert high - low > 3 * naive


def test_of_independent_queries_the_interval_is_the_textbook_s():
    latencies = np.random.default_rng(1).exponential(1e6, 20_000).astype(np.int64)
    low, high = confidence_of(_independent(latencies)).intervals["mean_ns"]
    assert high - low == pytest.approx(2 * 1.96 * 1e6 / np.sqrt(20_000), rel=0.3)
    assert low < latencies.mean() < high


def test_a_run_that_changes_is_said_to_drift():
    noise = np.random.default_rng(2).exponential(1e6, 4000)
    slower = np.linspace(1e6, 3e6, 4000)
    assert not confidence_of(_independent(noise.astype(np.int64))).drifts
    assert confidence_of(_independent((noise + slower).astype(np.int64))).drifts


def test_few_queries_have_few_intervals():
    latencies = np.arange(1, 501, dtype=np.int64) * 1000
    assert "p99_ns" not in confidence_of(_independent(latencies)).intervals
    assert "p90_ns" in confidence_of(_independent(latencies)).intervals
    assert confidence_of(_independent(latencies[:99])) is None
    failed = np.ones(500, np.int16)
    assert confidence_of(_independent(latencies, failed)) is None
    empty = np.zeros(0, np.int64)
    assert confidence_of(Records(empty, empty, empty, np.zeros(0, np.int16), (), 0)) is None


def test_equal_latencies_have_an_interval_of_no_width():
    found = confidence_of(_independent(np.full(1000, 5000, np.int64)))
    assert found.intervals["p50_ns"] == (5000.0, 5000.0)


def test_the_curve_is_of_nearest_ranks():
    latencies = np.random.default_rng(0).permutation(np.arange(1, 1001)).astype(np.int64)
    curve = percentile_curve(_independent(latencies))
    assert curve[0] == (0.0, 1)
    assert dict(curve)[50.0] == 500
    assert dict(curve)[75.0] == 750
    assert curve[-1] == (100.0, 1000)
    assert [y for _, y in curve] == sorted(y for _, y in curve)
    assert percentile_curve(_independent(latencies[:0])) == []


def test_parts_of_time_say_what_happened_when():
    latencies = np.full(6000, 10, np.int64)
    latencies[3000:] = 20
    kind = np.zeros(6000, np.int16)
    kind[:100] = 1
    parts = time_parts(_independent(latencies, kind))
    assert len(parts) == 60
    assert (parts[0]["p50_ns"], parts[0]["failed_per_s"]) == (None, pytest.approx(1000, rel=0.01))
    assert [parts[n]["p99_ns"] for n in (29, 30, 59)] == [10, 20, 20]
    assert sum(p["succeeded_per_s"] for p in parts) / 60 == pytest.approx(5900 / 6, rel=0.01)
    assert parts[30]["start_ns"] == pytest.approx(3 * 10**9, rel=0.01)
