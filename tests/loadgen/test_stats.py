import io
import json

import numpy as np
import pytest
from rich.console import Console

from surplus.loadgen.measurement import Measurement
from surplus.loadgen.record import OVERFLOW, Recorder, merge
from surplus.loadgen.stats import percentiles, summarise
from surplus.loadgen.table import render


def _records(rows, warmup_ns=0):
    recorder = Recorder(capacity=1)
    recorder.measure_from(warmup_ns)
    for intended, sent, done, kind in rows:
        recorder.finish(recorder.begin(intended, sent), done, kind)
    return recorder.records()


def _nearest_rank(values, percent):
    values = sorted(values)
    need = percent / 100 * len(values)
    return next(v for i, v in enumerate(values, 1) if i >= need - 1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 99, 1000, 4321])
def test_percentiles_are_observed_values_beside_numpys(size):
    values = np.random.default_rng(size).integers(1, 10**9, size)
    percents = (50, 90, 99, 99.9)
    found = percentiles(values, percents)
    assert found == [_nearest_rank(values, p) for p in percents]
    for percent, value in zip(percents, found, strict=True):
        low = np.percentile(values, percent, method="lower")
        assert low <= value <= np.percentile(values, percent, method="higher")


def test_a_summary_worked_by_hand():
    second = 1_000_000_000
    rows = [(i * second, i * second, i * second + (i + 1) * 1000, "") for i in range(10)]
    summary = summarise(_records(rows), open_loop=True)
    assert (summary.queries, summary.succeeded, summary.errors) == (10, 10, {})
    assert summary.window_ns == 9 * second + 10_000
    assert summary.throughput_per_s == pytest.approx(10 / 9.00001)
    assert summary.intended_per_s == summary.achieved_per_s == pytest.approx(1.0)
    latency = summary.latency
    assert (latency.mean_ns, latency.p50_ns, latency.p90_ns) == (5500, 5000, 9000)
    assert latency.p99_ns == latency.p99_9_ns == latency.max_ns == 10_000
    assert summary.warnings == ()


def test_errors_are_counted_by_kind_and_leave_no_latency():
    rows = [(0, 0, 10, ""), (1, 1, 99, "B"), (2, 2, 99, "A"), (3, 3, 99, "A"), (4, 4, 4, OVERFLOW)]
    summary = summarise(_records(rows), open_loop=True)
    assert list(summary.errors.items()) == [("A", 2), ("B", 1), (OVERFLOW, 1)]
    assert summary.latency.max_ns == 10
    assert (summary.queries, summary.succeeded) == (5, 1)


def test_warm_up_is_excluded_with_its_errors():
    rows = [(0, 0, 500, "A"), (99, 99, 600, ""), (100, 100, 103, "")]
    summary = summarise(_records(rows, warmup_ns=100), open_loop=False)
    assert (summary.queries, summary.errors, summary.latency.max_ns) == (1, {}, 3)
    assert summary.window_ns == 3


def test_a_late_generator_is_warned_of():
    rows = [(i * 10**6, i * 10**6 + 800_000, i * 10**6 + 900_000, "") for i in range(100)]
    summary = summarise(_records(rows), open_loop=True)
    assert summary.lateness_p99_ns == 800_000
    assert "the generator itself was late" in summary.warnings[0]
    assert summarise(_records(rows), open_loop=False).lateness_p99_ns is None


def test_lateness_that_is_small_beside_the_latency_is_no_reason_to_warn():
    rows = [(i * 10**6, i * 10**6 + 800_000, i * 10**6 + 9_000_000, "") for i in range(100)]
    assert summarise(_records(rows), open_loop=True).warnings == ()


@pytest.mark.parametrize(
    ("rows", "warning"), [([], "no query was measured"), ([(0, 0, 1, "A")], "no query succeeded")]
)
def test_nothing_to_summarise_is_said(rows, warning):
    summary = summarise(_records(rows), open_loop=False)
    assert summary.latency is None
    assert summary.throughput_per_s == 0.0
    assert warning in summary.warnings[0]
    json.dumps(summary.to_dict())


def test_merge_recodes_kinds_and_sorts_by_intended_time():
    merged = merge([_records([(5, 5, 6, "A"), (1, 1, 2, "B")]), _records([(3, 3, 4, "B")])])
    assert list(merged.intended_ns) == [1, 3, 5]
    assert list(merged.is_kind("B")) == [True, True, False]
    assert list(merged.is_kind("A")) == [False, False, True]


def test_unfinished_queries_are_left_out():
    recorder = Recorder(capacity=1)
    recorder.begin(0, 0)
    recorder.finish(recorder.begin(1, 1), 5)
    assert list(recorder.records().intended_ns) == [1]


def test_the_table_shows_names_as_they_are():
    records = _records([(0, 0, 10, "[red]kind[/red]"), (0, 0, 7, "")])
    measured = Measurement(summarise(records, open_loop=False), records)
    console = Console(width=100, file=io.StringIO())
    console.print(render(measured, "[bold]model"))
    text = console.file.getvalue()
    assert "[bold]model" in text
    assert "error [red]kind[/red]" in text
    assert "latency p99.9" in text
