"""What bench loadgen_agreement makes of figures, and that it reads what perf_analyzer writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.loadgen_agreement import __main__ as agreement
from bench.loadgen_agreement import known_server, perf_analyzer
from bench.loadgen_agreement.ours import Ours, gaps_cv
from bench.loadgen_agreement.perf_analyzer import (
    pass_rates,
    perf_analyzer_missing,
    table_percentiles_ns,
)

_TABLE = """Concurrency,Inferences/Second,Client,p50 latency,p90 latency,p95 latency,p99 latency
1,19.8,72,41277,57972,63691,77300
"""
_SAID = """Request concurrency: 1
  Pass [1] throughput: 3698.64 infer/sec. Avg latency: 267 usec (std 787 usec).
  Pass [2] throughput: 4055 infer/sec. Avg latency: 244 usec (std 799 usec).
"""


def test_a_row_has_the_median_of_ratios_round_by_round() -> None:
    row = agreement.ratio_row("x", "p50 ms", [(1.0, 2.0), (2.02, 2.0), (4.0, 4.0)], 0.03)
    assert (row["loadgen"], row["other"], row["ratio"]) == (2.02, 2.0, 1.0)
    assert row["held"]
    assert not agreement.ratio_row("x", "p50 ms", [(1.04, 1.0)], 0.03)["held"]
    assert not agreement.ratio_row("x", "p50 ms", [(0.96, 1.0)], 0.03)["held"]


def test_percentiles_are_read_from_the_table_in_nanoseconds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(_TABLE)
    found = table_percentiles_ns(tmp_path / "t.csv")
    assert found == {"p50": 41_277e3, "p90": 57_972e3, "p95": 63_691e3, "p99": 77_300e3}


def test_rates_of_windows_are_read_from_what_is_said() -> None:
    assert pass_rates(_SAID) == [3698.64, 4055.0]


def test_gaps_vary_as_those_of_poisson_arrivals_do() -> None:
    gaps = np.random.default_rng(1).exponential(1e6, (2, 200_000))
    runs = list(np.cumsum(gaps, axis=1).astype(np.int64))
    assert gaps_cv(runs) == pytest.approx(1.0, abs=0.01)
    assert gaps_cv([np.arange(0, 1000, 10)]) == 0.0


def test_parts_that_cannot_run_here_are_left_out_with_their_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = perf_analyzer_missing(tmp_path)
    assert reason == f"no perf_analyzer in {tmp_path} (`make peers` fetches it)"
    monkeypatch.setattr(agreement, "perf_analyzer_missing", lambda: reason)
    monkeypatch.setattr(agreement, "mlperf_missing", lambda: None)
    assert agreement.left_out() == {"perf_analyzer": reason, "stability": reason}


def test_a_program_that_does_not_start_says_what_it_may_lack(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "perf_analyzer"
    program.write_text("#!/bin/sh\necho cannot open libb64.so.0d >&2\nexit 127\n")
    program.chmod(0o755)
    reason = perf_analyzer_missing(tmp_path)
    assert reason is not None
    assert "libb64-0d installed? cannot open libb64.so.0d" in reason


def test_shapes_of_a_payload_are_told() -> None:
    words = perf_analyzer.asking(8001, "grpc", agreement.all_payloads()["floats_16"], 2)
    assert words[-2:] == ["--shape=x:1,16", "--concurrency-range=2"]


def test_a_known_server_takes_the_times_that_it_says(tmp_path: Path) -> None:
    times_ns = known_server.service_times_ns()
    server = known_server.start_known(tmp_path)
    try:
        ours = Ours(server.port("grpc"), agreement.all_payloads()["floats_16"])
        found_ns = ours.closed_latencies_ns(16, 2 * known_server.COUNT)
    finally:
        server.end()
    # No query is faster than the shortest, nor most of them than what they should take.
    assert found_ns.min() >= times_ns.min()
    assert np.median(found_ns) >= np.median(times_ns)
    assert np.percentile(times_ns, 99) > 2 * np.median(times_ns)


def test_the_known_capacity_is_that_of_a_queue_followed_query_by_query() -> None:
    target_ns = 20_000_000
    rate_per_s = known_server.known_capacity_per_s(target_ns)
    gaps_ns = np.random.default_rng(5).exponential(1e9 / rate_per_s, 200_000)
    took_ns = np.resize(known_server.service_times_ns(known_server.MEDIAN_IN_TURN_NS), 200_000)
    free_ns = arrives_ns = late = 0.0
    for gap_ns, own_ns in zip(gaps_ns, took_ns, strict=True):
        arrives_ns += gap_ns
        free_ns = max(free_ns, arrives_ns) + own_ns
        late += free_ns - arrives_ns > target_ns
    assert late / len(took_ns) == pytest.approx(0.01, abs=0.003)
