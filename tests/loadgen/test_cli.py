import json
import socket
import subprocess
import sys

import grpc
import numpy as np
import pytest

from surplus.loadgen.cli import main

_SHORT = ["--count", "20", "--warmup", "0s", "--shape", "x:0:2,4"]
_LATENCY = {"mean_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"}
_SUMMARY = {
    "queries": int,
    "succeeded": int,
    "errors": dict,
    "window_ns": int,
    "throughput_per_s": float,
    "latency": dict,
    "warnings": list,
}


def _json(identity, capsys, *options):
    status = main(["--url", identity.url, "--model", "identity", "--json", "-", *options])
    return status, json.loads(capsys.readouterr().out)


def _check_schema(result):
    assert set(result) == {
        *("format", "target", "load", "summary"),
        *("confidence", "percentiles", "timeline", "models"),
    }
    assert result["format"] == "loadgen-result/1"
    for key, kind in _SUMMARY.items():
        assert isinstance(result["summary"][key], kind), key
    assert set(result["summary"]["latency"]) == _LATENCY


_CLIENTS = [["--client", "python"], ["--client", "native"], ["--compare", "--threads", "2"], []]


@pytest.mark.parametrize("client", _CLIENTS, ids=" ".join)
def test_closed_loop_end_to_end(identity, capsys, client):
    status, result = _json(identity, capsys, *_SHORT, "--users", "3", *client)
    assert status == 0
    kind = "python" if "python" in client else "native"
    assert result["summary"]["generator"]["client"] == kind
    _check_schema(result)
    assert result["load"]["loop"] == "closed"
    assert result["load"]["users"] == 3
    assert result["summary"]["succeeded"] == len(identity.requests) >= 20
    assert result["summary"]["intended_per_s"] is None


@pytest.mark.parametrize("client", ["python", "native"])
def test_open_loop_end_to_end(identity, capsys, client):
    options = ["--rate", "500", "--seed", "3", "--client", client]
    status, result = _json(identity, capsys, *_SHORT, *options)
    assert status == 0
    _check_schema(result)
    assert result["load"]["loop"] == "open"
    assert (result["load"]["process"], result["load"]["rate_per_s"]) == ("poisson", 500.0)
    assert result["summary"]["intended_per_s"] > 0
    assert result["summary"]["queries"] == len(identity.requests) == 20


def test_random_inputs_follow_the_metadata_the_given_shape_and_the_seed(identity, capsys):
    for seed in ("1", "1", "2"):
        _json(identity, capsys, *_SHORT, "--seed", seed)
    tensor = identity.requests[0].inputs[0]
    assert (tensor.name, tensor.datatype, list(tensor.shape)) == ("x:0", "FP32", [2, 4])
    raws = [request.raw_input_contents[0] for request in identity.requests]
    assert raws[0] == raws[20]
    assert raws[0] != raws[-1]
    values = np.frombuffer(raws[0], "<f4")
    assert values.size == 8
    assert ((values >= 0) & (values < 1)).all()


def test_inputs_come_from_a_file(identity, capsys, tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.savez(tmp_path / "x.npz", **{"x:0": array})
    options = ["--count", "1", "--warmup", "0s", "--inputs", str(tmp_path / "x.npz")]
    assert _json(identity, capsys, *options)[0] == 0
    assert identity.requests[0].raw_input_contents[0] == array.tobytes()
    assert list(identity.requests[0].inputs[0].shape) == [3, 4]


def test_inputs_are_made_as_specified(identity, capsys):
    options = ["--count", "1", "--warmup", "0s", "--input", "x:0:1,4:FP32:zeros"]
    assert _json(identity, capsys, *options)[0] == 0
    assert identity.requests[0].raw_input_contents[0] == bytes(16)


@pytest.mark.parametrize("client", ["python", "native"])
def test_errors_are_counted_by_their_status(identity, capsys, client):
    identity.fail = grpc.StatusCode.RESOURCE_EXHAUSTED
    status, result = _json(identity, capsys, *_SHORT, "--client", client)
    assert status == 1
    assert result["summary"]["errors"] == {"RESOURCE_EXHAUSTED": 20}
    assert result["summary"]["latency"] is None
    assert "RESOURCE_EXHAUSTED: as told" in result["summary"]["warnings"]


def test_the_table_is_printed_and_the_file_written(identity, capsys, tmp_path):
    file = tmp_path / "result.json"
    options = ["--url", identity.url, "--model", "identity", *_SHORT, "--json", str(file)]
    assert main(options) == 0
    assert "latency p99.9" in capsys.readouterr().out
    _check_schema(json.loads(file.read_text()))


def test_latencies_are_written_as_a_histogram(identity, capsys, tmp_path):
    pytest.importorskip("hdrh")
    status, result = _json(identity, capsys, *_SHORT, "--hdr", str(tmp_path / "l.hlog"))
    assert status == 0
    last = (tmp_path / "l.hlog").read_text().splitlines()[-1].split(",")
    assert float(last[2]) == result["summary"]["latency"]["max_ns"] // 1_000_000


def test_a_reader_that_goes_away_is_no_failure(identity):
    command = [sys.executable, "-m", "loadgen", "--url", identity.url, "--model", "identity"]
    with subprocess.Popen(
        [*command, *_SHORT, "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_what_we_did_not_foresee_is_one_line(identity, capsys, monkeypatch):
    async def fail(*_):
        raise LookupError("lost\nits way")

    monkeypatch.setattr("surplus.loadgen.verbs.run.measure", fail)
    assert main(["--url", identity.url, "--model", "identity"]) == 70
    assert capsys.readouterr().err == "loadgen: internal error: LookupError: lost its way\n"


def _unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_an_unreachable_server_is_one_line_and_a_failure(capsys):
    url = f"127.0.0.1:{_unused_port()}"
    assert main(["--url", url, "--model", "identity"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"loadgen: cannot reach a server at {url}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--model", "other"], 1, "refused model 'other': no model 'other'"),
        (["--model", "identity"], 1, "input 'x:0' has shape [-1, 4] with open dimensions"),
        (["--model", "identity", "--shape", "z:4"], 1, "has no input 'z'; it has: x:0"),
        (["--model", "identity", "--inputs", "missing.npz"], 1, "cannot read missing.npz"),
        (["--model", "identity", "--shape", "x"], 2, "shape 'x' is not name:dimension"),
        (["--model", "identity", "--input", "x:1:FP31"], 2, "datatype must be one of"),
        (["--model", "identity", "--input", "x:1:FP32:ones"], 2, "fill must be one of"),
        (["--model", "identity", "--input", "x"], 2, "is not name:shape:datatype"),
        (["--model", "identity", "--duration", "fast"], 2, "duration 'fast' is not a number"),
        (["--model", "identity", "--users", "0"], 2, "users must be >= 1, got 0"),
        (["--model", "identity", "--rate", "0"], 2, "rate_per_s must be > 0"),
        (["--model", "identity", "--timeout", "0s"], 2, "timeout must be > 0"),
        (["--model", "identity", "--timeout", 400 * "9"], 2, "longer than a century"),
        (["--model", "identity", "--seed", "-1"], 2, "seed must be >= 0, got -1"),
        (["--model", "identity", "--shape", "x:0:9999999999,4"], 1, "more than a message"),
        (["--model", "identity", "--input", f"x:0:{70 * '1,'}1:FP32"], 1, "input 'x:0': maximum"),
        (["--model", "identity", "--json", "no/where.json"], 1, "no/where.json: cannot be written"),
        (["--model", "identity", "--hdr", "no/where"], 1, "no/where: cannot be written"),
        (["--model", "identity", "--json", "."], 1, ".: cannot be written"),
        (["--model", "identity", "--threads", "0"], 2, "threads must be >= 1, got 0"),
        (["--model", "identity", "--connections", "-1"], 2, "connections must be >= 1"),
        (["--model", "identity", "--client", "python", "--compare"], 2, "the Python client cannot"),
        (["--model", "identity", "--protocol", "http"], 1, "cannot reach a server"),
        (["--model", "two lines"], 1, "refused model 'two lines': one two"),
    ],
)
def test_wrong_options_are_one_clear_line(identity, capsys, options, status, message):
    assert main(["--url", identity.url, *options]) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert identity.requests == []
