"""``engine trace`` against a server of this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tritonclient.grpc as triton

import surplus
from surplus.engine.cli.main import main
from tests.cli.calls import Called
from tests.late_server import INPUTS, late_server
from tests.serving.fakes import tensor


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    with late_server(tmp_path_factory.mktemp("trace"), "digits", 0) as server:
        with triton.InferenceServerClient(server.address) as client:
            inputs = [tensor(name, array, "FP32") for name, array in INPUTS.items()]
            client.infer("digits", inputs)
        yield server


def call(capsys: pytest.CaptureFixture[str], *words: object) -> Called:
    capsys.readouterr()
    status = main(["trace", *map(str, words)])
    return Called(status, *capsys.readouterr())


def test_the_last_query_of_a_model_is_drawn(
    server: surplus.Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.json"
    called = call(capsys, f"http://{server.http_address}", "--model", "digits", "-o", file)
    assert (called.status, called.err) == (0, "")
    assert called.out.startswith("digits's query took ")
    assert "late: decoding " in called.out
    trace = json.loads(file.read_text())
    names = {event["name"] for event in trace["traceEvents"]}
    assert {"request", "decode", "execute", "encode", "due"} <= names
    assert trace["otherData"]["run"] == "recorded"


def test_what_is_known_of_it_as_json(
    server: surplus.Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = f"http://{server.http_address}", "--model", "digits", "-o", tmp_path / "t", "--json"
    found = call(capsys, *words).json()
    assert (found["model"], found["trouble"]) == ("digits", "late")
    assert found["received_ns"] < found["started_ns"] < found["ended_ns"] <= found["answered_ns"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--id", "nobody"], "no query with id 'nobody' is among the last ones"),
        ([], "say which query"),
        (["--next", "90"], "next_s must be above 0, at most 60"),
    ],
)
def test_what_is_not_there_is_said(
    server: surplus.Server,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: list[str],
    says: str,
) -> None:
    file = tmp_path / "t.json"
    called = call(capsys, f"http://{server.http_address}", *words, "-o", file)
    assert called.status == 1
    assert says in called.err
    assert not file.exists()


def test_grpc_has_no_traces(
    server: surplus.Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    called = call(capsys, server.address, "--model", "digits", "-o", tmp_path / "t.json")
    assert called.status == 1
    assert "a trace is asked for over HTTP" in called.err
