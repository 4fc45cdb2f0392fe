"""What bench batching_served makes of queries and of the server's counts, and what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.infrastructure import result_file
from bench.models.batching_served import TURNS, mean_rows, p99_ms, stored_rows
from bench.models.batching_servers import require_idle
from surplus.loadgen.record import Recorder


def test_rows_are_those_of_the_calls_in_between() -> None:
    assert mean_rows({1: 10, 2: 5}, {1: 12, 2: 5, 4: 6}) == (2 * 1 + 6 * 4) / 8
    assert math.isnan(mean_rows({1: 3}, {1: 3}))
    assert math.isnan(mean_rows({}, {}))


def test_the_p99_is_of_measured_queries_that_succeeded() -> None:
    recorder = Recorder()
    recorder.measure_from(1_000)
    recorder.finish(recorder.begin(0, 0), 10**12)
    recorder.finish(recorder.begin(1_000, 1_000), 10**12, "UNAVAILABLE")
    assert math.isnan(p99_ms(recorder.records()))
    for took_ns in np.random.default_rng(0).permutation(np.arange(1, 101)).tolist():
        recorder.finish(recorder.begin(2_000, 2_500), 2_000 + took_ns * 10**6)
    assert p99_ms(recorder.records()) == 99


def test_servers_that_compute_unasked_are_no_comparison() -> None:
    slept: list[float] = []
    with pytest.raises(RuntimeError, match="spins takes 10% of a core while nobody asks it"):
        require_idle(
            {"rests": 1, "spins": 2}, lambda pid: sum(slept) * (0, 0.01, 0.1)[pid], slept.append
        )
    require_idle({"rests": 1}, lambda pid: sum(slept) * 0.01, slept.append)


def test_rows_of_other_models_stay(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    assert stored_rows(TURNS, "m") == []
    result_file.write(TURNS, {}, [{"model": "m", "late": 1}, {"model": "n", "late": 2}])
    assert stored_rows(TURNS, "m") == [{"model": "n", "late": 2}]
