"""Several models in one run, scenario files, traces: from the command line to the server."""

from __future__ import annotations

import json

import pytest

from surplus.loadgen.cli import main

_SHORT = ["--count", "60", "--warmup", "0s", "--shape", "x:0:1,4"]
_CLIENTS = pytest.mark.parametrize("client", ["python", "native"])


def _json(identity, capsys, *words):
    status = main(["--url", identity.url, "--json", "-", *words])
    return status, json.loads(capsys.readouterr().out)


def _names(identity):
    return [request.model_name for request in identity.requests]


@_CLIENTS
@pytest.mark.parametrize("loop", [["--users", "2"], ["--rate", "2000"]], ids=" ".join)
def test_models_share_the_queries_and_are_told_apart(identity, capsys, client, loop):
    models = ["--model", "identity=3", "--model", "twin"]
    status, result = _json(identity, capsys, *models, *_SHORT, *loop, "--client", client)
    assert status == 0
    assert result["target"]["model"] == "identity, twin"
    counts = {part["name"]: part["summary"]["succeeded"] for part in result["models"]}
    assert sum(counts.values()) == result["summary"]["succeeded"] == len(identity.requests)
    for name, count in counts.items():
        assert count == _names(identity).count(name)
    assert counts["identity"] > counts["twin"] > 0
    parts = [part["summary"]["throughput_per_s"] for part in result["models"]]
    assert sum(parts) == pytest.approx(result["summary"]["throughput_per_s"])


def test_the_table_has_a_column_for_each_model(identity, capsys):
    assert main(["--url", identity.url, "--model", "identity", "--model", "twin", *_SHORT]) == 0
    heading = capsys.readouterr().out.splitlines()[2]
    assert [name in heading for name in ("all", "identity", "twin")] == [True] * 3, heading


@_CLIENTS
def test_a_scenario_says_what_each_model_is_asked(identity, capsys, tmp_path, client):
    file = tmp_path / "scenario.toml"
    file.write_text(
        """
        rate = 1000
        arrivals = "uniform"
        count = 40
        warmup = "0s"
        [[model]]
        name = "identity"
        weight = 3
        priority = 2
        timeout = "5s"
        input = ["x:0:1,4:FP32:zeros"]
        [[model]]
        name = "twin"
        shape = ["x:0:2,4"]
        """
    )
    status, result = _json(identity, capsys, "--scenario", str(file), "--client", client)
    assert status == 0
    assert (result["load"]["process"], result["load"]["rate_per_s"]) == ("uniform", 1000.0)
    assert [m["timeout_ns"] for m in result["target"]["models"]] == [5 * 10**9, 60 * 10**9]
    assert len(identity.requests) == 40
    for request in identity.requests:
        told = {row.key: row.value.int64_param for row in request.parameters}
        is_first = request.model_name == "identity"
        assert told == ({"priority": 2} if is_first else {})
        assert list(request.inputs[0].shape) == ([1, 4] if is_first else [2, 4])
        assert is_first == (request.raw_input_contents[0] == bytes(16))


def test_the_command_line_goes_before_the_scenario(identity, capsys, tmp_path):
    file = tmp_path / "scenario.json"
    text = {"model": "twin", "rate": 10, "count": 1000, "warmup": "0s", "shape": ["x:0:1,4"]}
    file.write_text(json.dumps(text))
    words = ["--scenario", str(file), "--users", "1", "--count", "3", "--model", "identity"]
    status, result = _json(identity, capsys, *words)
    assert (status, result["load"]["loop"]) == (0, "closed")
    assert _names(identity) == ["identity"] * result["summary"]["succeeded"]
    assert result["summary"]["succeeded"] < 100


@_CLIENTS
def test_a_trace_is_replayed_to_the_models_that_it_names(identity, capsys, tmp_path, client):
    file = tmp_path / "trace.csv"
    file.write_text("time,model,priority\n0,twin,1\n0.01,identity,\n0.02,twin,\n0.03,twin,1\n")
    words = ["--arrivals", f"trace:path={file}", "--shape", "x:0:1,4", "--client", client]
    status, result = _json(identity, capsys, *words)
    assert status == 0
    assert _names(identity) == ["twin", "identity", "twin", "twin"]
    assert [len(request.parameters) for request in identity.requests] == [1, 0, 0, 1]
    assert result["load"]["process"] == "trace"
    assert result["summary"]["window_ns"] >= 30_000_000
    assert [(p["name"], p["summary"]["queries"]) for p in result["models"]] == [
        ("twin", 3),
        ("identity", 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("users = ", "scenario.toml: Invalid value"),
        ("colour = 1", "scenario.toml: unknown key 'colour'"),
        ("users = 'x'", "scenario.toml: users: invalid int value: 'x'"),
        ("protocol = 'smtp'", "scenario.toml: protocol: invalid choice: 'smtp'"),
        ("compare = 3", "scenario.toml: compare: must be true or false, got 3"),
        ("shape = 'x:1'", "scenario.toml: shape: must be a list, got 'x:1'"),
        ("url = true", "scenario.toml: url: must be one value, got True"),
        ("users = 1\nrate = 2.0", "scenario.toml: users and rate are two loops; name one"),
        ("model = 3", "scenario.toml: model: must be tables"),
        ("[[model]]\nweight = 1", "scenario.toml: model 1: name: is missing"),
        ("[[model]]\nname = 'a'\ncolour = 1", "scenario.toml: model 1: unknown key 'colour'"),
        ("[[model]]\nname = 3", "scenario.toml: model 1: name: must be str, got 3"),
        ("[[model]]\nname = 'a'\nshape = [1]", "scenario.toml: model 1: shape: must be texts"),
        ("[[model]]\nname = 'a'\n[[model]]\nname = 'a'", "model 'a' is asked twice"),
        ("[[model]]\nname = 'a'\nweight = 0", "model 'a': weight must be > 0"),
        ("users = 1", "there is no model to ask"),
    ],
)
def test_a_scenario_that_makes_no_sense_says_where(capsys, tmp_path, text, message):
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    assert main(["--scenario", str(file)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no model to ask: give --model, --in-process or --scenario"),
        (["--model", "a", "--in-process", "b"], "--model asks a server, and --in-process does not"),
        (["--in-process", "b", "--url", "h:1"], "models in this process have no --url"),
        (["--in-process", "b", "--compare"], "models in this process have no comparing answers"),
        (["--model", "a=x"], "model 'a=x': the weight 'x' is not a number"),
        (["--model", "a", "--rate", "1", "--arrivals", "bursty:peak=0"], "peak must be > 1"),
        (["--model", "a", "--arrivals", "trace:path=/no"], "No such file"),
        (["--model", "a", "--arrivals", "trace:path=/no", "--users", "2"], "has no --users"),
        (["--scenario", "no.toml", "--model", "a"], "No such file or directory: 'no.toml'"),
    ],
)
def test_options_that_contradict_are_one_line(capsys, words, message):
    assert main(words) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("runtime", ["onnxruntime", "surplus"])
@pytest.mark.parametrize("loop", [["--users", "2"], ["--rate", "500"]], ids=" ".join)
def test_models_in_this_process_are_measured(capsys, small_model, runtime, loop):
    words = ["--in-process", str(small_model), "--runtime", runtime, "--shape", "x:2,4"]
    status = main([*words, "--count", "30", "--warmup", "0s", "--json", "-", *loop])
    result = json.loads(capsys.readouterr().out)
    assert status == 0
    assert result["summary"]["succeeded"] >= 30
    assert result["summary"]["errors"] == {}
    assert result["load"]["protocol"] == runtime


def test_a_query_that_a_runtime_refuses_is_an_error_of_its_own(capsys, small_model):
    words = ["--in-process", str(small_model), "--runtime", "onnxruntime", "--count", "3"]
    assert main([*words, "--input", "x:2,5:FP32", "--warmup", "0s", "--json", "-"]) == 1
    (kind,) = json.loads(capsys.readouterr().out)["summary"]["errors"]
    assert kind == "InvalidArgument"


@pytest.mark.parametrize("runtime", ["onnxruntime", "surplus"])
def test_a_file_that_is_no_model_is_one_line(capsys, tmp_path, runtime):
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    assert main(["--in-process", str(tmp_path / "bad.onnx"), "--runtime", runtime]) == 1
    error = capsys.readouterr().err
    assert "cannot load" in error
    assert error.count("\n") == 1
