"""MLPerf's scenarios by the real LoadGen, where it is installed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import grpc
import numpy as np
import pytest

from surplus.loadgen.cli import main
from surplus.loadgen.errors import ResultError
from surplus.loadgen.mlperf import library
from surplus.loadgen.mlperf.asking import Asking
from surplus.loadgen.mlperf.library import mlperf_missing
from surplus.loadgen.mlperf.params import MlperfParams
from surplus.loadgen.mlperf.result import incomplete_result, read_mlperf_log
from surplus.loadgen.mlperf.table import mlperf_rows
from surplus.loadgen.native import http2_missing
from surplus.loadgen.record import Recorder
from surplus.loadgen.targets.feed import Loss

_MISSING = mlperf_missing() or http2_missing()
needs_loadgen = pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))
_SHORT = ["--duration", "200ms", "--warmup", "0s", "--json", "-"]


class StandInFeed:
    """A target that answers when it is told to, in turns."""

    requests = 4
    loss = None

    def __init__(self, *ended):
        self.asked, self.ended = [], list(ended)

    def ask(self, request):
        self.asked.append(request)

    def take(self):
        return self.ended.pop(0) if self.ended else ()


def _samples(*indices):
    return [SimpleNamespace(id=100 + index, index=index) for index in indices]


def test_samples_wait_here_until_there_is_room_for_them():
    feed, told = StandInFeed([(0, True)], [(2, False), (1, True)], [(3, True)]), []
    asking = Asking(feed, 2, told.append)
    asking.issue(_samples(3, 1, 2, 0))
    assert feed.asked == [3, 1]
    asking.answer()
    assert feed.asked == [3, 1, 2, 0]
    assert told == [[(103, b"")], [(102, b""), (101, b"")], [(100, b"")]]
    assert (asking.count, asking.measured_count, asking.failed) == (4, 4, 1)


def test_a_target_that_is_lost_is_told_of_once_it_is_over():
    feed = StandInFeed([(0, True)], [(1, False)])
    feed.loss = Loss("it went away", None)
    asking = Asking(feed, 2, lambda ended: None)
    asking.issue(_samples(3, 1, 2))
    asking.answer()
    assert asking.lost.result(0) is feed.loss


def _run(identity, capsys, *words):
    options = ["--url", identity.url, "--model", "identity", "--shape", "x:0:2,4"]
    status = main(["mlperf", *words, *options, *_SHORT])
    return status, json.loads(capsys.readouterr().out)


@needs_loadgen
@pytest.mark.parametrize(
    ("words", "figures"),
    [
        (["single-stream"], {"queries", "p90_ns"}),
        (["multi-stream", "--samples", "2", "--percentile", "50"], {"queries", "p50_ns"}),
        (["server", "--rate", "100", "--slo", "30s", "--percentile", "50"], {"samples_per_s"}),
        (["offline", "--rate", "20000"], {"samples_per_s"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_scenario_runs(identity, capsys, words, figures):
    status, result = _run(identity, capsys, *words)
    assert (status, result["reasons"]) == (0, [])
    assert (result["is_valid"], result["failed"]) == (True, 0)
    assert result["asked"]["scenario"] == words[0]
    assert figures <= set(result["figures"])
    asked = result["asked"]["samples_per_query"] * result["figures"]["queries"]
    assert len(identity.requests) > asked  # the warm-up's, too
    assert identity.requests[-1].model_name == "identity"


@needs_loadgen
def test_a_model_in_this_process_is_asked(small_model, capsys):
    words = ["mlperf", "single-stream", "--in-process", str(small_model), "--shape", "x:2,4"]
    status = main([*words, "--runtime", "onnxruntime", *_SHORT])
    result = json.loads(capsys.readouterr().out)
    assert (status, result["is_valid"]) == (0, True)
    assert result["target"]["protocol"] == "onnxruntime"


@needs_loadgen
def test_a_run_that_misses_its_target_is_not_valid_and_says_why(identity, capsys, tmp_path):
    words = ["server", "--rate", "100", "--slo", "1us", "--logs", str(tmp_path / "logs")]
    status, result = _run(identity, capsys, *words)
    assert (status, result["is_valid"]) == (1, False)
    assert "the percentile is not within the target" in result["reasons"]
    assert "Scenario : Server" in (tmp_path / "logs" / "mlperf_log_summary.txt").read_text()


@needs_loadgen
def test_an_offline_run_that_ends_early_says_what_to_expect(identity, capsys):
    status, result = _run(identity, capsys, "offline", "--rate", "1")
    assert status == 1
    assert any(text.startswith("expect more of it: --rate ") for text in result["reasons"])


@needs_loadgen
def test_queries_that_fail_make_a_run_invalid_though_loadgen_cannot_know(identity, capsys):
    class Requests(list):
        def append(self, request):
            super().append(request)
            if len(self) > 20:
                identity.fail = grpc.StatusCode.RESOURCE_EXHAUSTED

    identity.requests = Requests()
    status, result = _run(identity, capsys, "single-stream")
    assert (status, result["is_valid"]) == (1, False)
    assert result["failed"] == result["figures"]["queries"]
    assert result["reasons"][-1] == f"{result['failed']:,} samples failed"


@needs_loadgen
def test_a_model_that_answers_nothing_is_told_of_before_loadgen_begins(identity, capsys):
    identity.fail = grpc.StatusCode.UNIMPLEMENTED
    words = ["mlperf", "single-stream", "--url", identity.url, "--model", "identity"]
    assert main([*words, "--shape", "x:0:2,4", "--warmup", "0s"]) == 1
    assert "no query succeeded" in capsys.readouterr().err


@needs_loadgen
def test_a_run_can_be_interrupted(identity):
    words = ["mlperf", "single-stream", "--url", identity.url, "--model", "identity"]
    command = [sys.executable, "-m", "surplus.loadgen", *words, "--shape", "x:0:2,4"]
    with subprocess.Popen(
        [*command, "--duration", "20s", "--warmup", "0s"], stderr=subprocess.PIPE
    ) as process:
        while len(identity.requests) < 100:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b"loadgen: interrupted\n"


@needs_loadgen
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["single-stream"], "mean_ns"),
        (["server", "--rate", "500", "--slo", "1s"], "p99_ns"),
        (["offline", "--rate", "1000"], "samples_per_s"),
        (["server", "--mode", "accuracy", "--rate", "1"], "samples"),
    ],
    ids=["single-stream", "server", "offline", "accuracy"],
)
def test_a_server_that_goes_away_ends_a_run_that_says_what_there_was(
    identity, tmp_path, words, shown
):
    """Long before its time: LoadGen itself would go on for two minutes."""
    where = ["--url", identity.url, "--model", "identity", "--warmup", "0s", "--json", "-"]
    alone = ["--max-outstanding", "1"]  # the next is asked for once an answer has arrived
    length = [] if "accuracy" in words else ["--duration", "2m"]
    for k in range(60):
        np.savez(tmp_path / f"{k}.npz", **{"x:0": np.zeros((1, 4), np.float32)})
    command = [sys.executable, "-m", "surplus.loadgen", "mlperf", *words, *where, *alone, *length]
    with subprocess.Popen(
        [*command, "--inputs", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while len(identity.requests) < 22:  # 20 of them are the warm-up's
            assert process.poll() is None
        identity.end()
        said, error = process.communicate(timeout=120)
    result = json.loads(said)
    assert process.returncode == 1
    assert (result["is_valid"], result["is_complete"]) == (False, False)
    lost = f"the server at {identity.url} went away: "
    assert result["reasons"][0].startswith(lost)
    assert error.decode().splitlines()[-1].startswith(f"loadgen: {lost}")
    assert result["figures"]["samples"] >= 1
    assert shown in result["figures"]


def test_without_loadgen_the_extra_is_named(identity, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlperf_loadgen", None)
    words = ["mlperf", "single-stream", "--url", identity.url, "--model", "identity"]
    assert main(words) == 1
    assert "pip install 'surplus-engine[mlperf]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["server", "--slo", "1s"], "server needs --rate"),
        (["server", "--rate", "5"], "server needs --slo"),
        (["offline"], "offline needs --rate"),
        (["offline", "--rate", "5", "--slo", "1s"], "--slo is for server, not offline"),
        (["single-stream", "--samples", "4"], "--samples is for multi-stream, not single-stream"),
        (["single-stream", "--rate", "4"], "--rate is for server, offline, not single-stream"),
        (["offline", "--rate", "5", "--percentile", "9"], "--percentile is for single-stream"),
        (["server", "--rate", "-1", "--slo", "1s"], "rate must be > 0, got -1.0"),
        (["offline", "--rate", "1e6"], "make 10,000,000 samples at once, of at most 5,000,000"),
        (["multi-stream", "--samples", "0"], "samples must be >= 1, got 0"),
        (["single-stream", "--percentile", "100"], "percentile must be between 0 and 100"),
        (["single-stream", "--duration", "1us"], "the duration must be a millisecond or longer"),
        (["single-stream", "--count", "0"], "least_queries must be >= 1, got 0"),
        (["single-stream", "--seed", "-1"], "seed must be >= 0"),
        (["single-stream", "--model", "b"], "name one --model"),
        (["single-stream", "--threads", "2"], "it has no --threads"),
        (["single-stream", "--client", "python"], "by the native client alone"),
        (["single-stream", "--max-outstanding", "0"], "must be >= 1, got 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_contradict_each_other_are_refused(capsys, words, message):
    assert main(["mlperf", *words, "--model", "m"]) == 2
    assert message in capsys.readouterr().err


def test_logs_that_cannot_be_written_are_refused_before_the_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(library.LoadgenError, match="file/logs: cannot be written: Not a directory"):
        library.check_logs(tmp_path / "file" / "logs")


def test_a_log_without_a_result_is_told_of(tmp_path):
    (tmp_path / "mlperf_log_detail.txt").write_text("nothing\n")
    with pytest.raises(ResultError, match="LoadGen came to no result"):
        read_mlperf_log(tmp_path, 0)


def test_what_is_not_complete_has_our_own_figures():
    recorder = Recorder()
    for k in range(10):
        recorder.finish(recorder.begin(k, k), k + 1_000_000)
    recorder.finish(recorder.begin(10, 10), 20, "UNAVAILABLE")
    result = incomplete_result(Loss("it went away", recorder.records()), 1, "6.0")
    rows = mlperf_rows(result, MlperfParams("single-stream"))
    assert rows["result"] == "INCOMPLETE: it went away; 1 samples failed"
    assert rows["samples answered"] == "10"
    assert rows["latency p99.9"] == "1.000 ms"
    offline = mlperf_rows(result, MlperfParams("offline", rate_per_s=1.0))
    assert "samples" in offline


def test_the_table_begins_with_what_the_scenario_is_about(tmp_path):
    said = {"result_validity": "VALID", "loadgen_version": "6.0 @ x", "result_query_count": 7}
    said |= {"result_completed_samples_per_sec": 12.5, "result_99.90_percentile_latency_ns": 2e6}
    lines = [
        ":::MLLOG " + json.dumps({"key": k, "value": v, "metadata": {"is_error": False}})
        for k, v in said.items()
    ]
    (tmp_path / "mlperf_log_detail.txt").write_text("\n".join(lines))
    rows = mlperf_rows(
        read_mlperf_log(tmp_path, 0), MlperfParams("server", rate_per_s=9, target_ns=3_000_000)
    )
    assert list(rows.items())[:3] == [
        ("result", "VALID"),
        ("samples", "12.5 /s"),
        ("target", "p99 within 3.000 ms"),
    ]
    assert rows["latency p99.9"] == "2.000 ms"
