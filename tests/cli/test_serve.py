"""``engine serve`` as a process: it answers, drains on SIGTERM, and starts again from its plan."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http

from surplus import models
from tests.serving import tls

WAIT_S = 120
COMMAND = [sys.executable, "-m", "surplus.engine.cli.main", "-v", "serve"]


@contextmanager
def _served(cache: Path, *words: object) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server on a port of the system's choice: process, address, suggested query."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words), "--port", "0", "--cache", str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        found = re.search(r"serving .* on (127\.0\.0\.1:\d+) ", first)
        assert found, (first, process.stderr and process.stderr.read())
        yield process, found[1], second
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def _infer(address: str, name: str, image: np.ndarray) -> np.ndarray:
    with triton.InferenceServerClient(address) as client:
        assert client.is_model_ready(name)
        query = triton.InferInput("image", image.shape, "FP32")
        query.set_data_from_numpy(image)
        return client.infer(name, [query]).as_numpy("logits")


def _stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err
    return err


@pytest.fixture
def image() -> np.ndarray:
    return models.example_inputs("lenet")["image"]


def test_serve_twice(cli_folder: Path, tmp_path: Path, image: np.ndarray) -> None:
    path = tmp_path / "digits.onnx"
    shutil.copy(cli_folder / "lenet.onnx", path)
    np.savez(path.with_suffix(".npz"), image=image)
    with _served(tmp_path / "cache", path) as (process, address, query):
        first = _infer(address, "digits", image)
        assert f"--url {address} --model digits" in query
        assert f"--inputs {tmp_path / 'digits.npz'}" in query
        err = _stop(process)
    assert re.search(r"digits: \d+ segments .* predicted makespan .* lower bound ", err)
    plans = {p: p.read_bytes() for p in (tmp_path / "cache").glob("*/plan-*.json")}
    assert len(plans) == 1
    times = tmp_path / "cache" / "timings-2.sqlite"
    times.unlink()
    with _served(tmp_path / "cache", path) as (process, address, _):
        assert np.array_equal(_infer(address, "digits", image), first)
        _stop(process)
    # The second start measured nothing, and left the plan as it was.
    assert not times.exists()
    assert {p: p.read_bytes() for p in (tmp_path / "cache").glob("*/plan-*.json")} == plans


def test_a_repository_with_a_broken_model(
    cli_folder: Path, tmp_path: Path, image: np.ndarray
) -> None:
    for name in ("broken", "digits"):
        (tmp_path / "repository" / name / "1").mkdir(parents=True)
    (tmp_path / "repository" / "broken" / "1" / "model.onnx").write_bytes(b"no model")
    shutil.copy(cli_folder / "lenet.onnx", tmp_path / "repository" / "digits" / "1" / "model.onnx")
    with _served(cli_folder / "cache", tmp_path / "repository") as (process, address, _):
        assert _infer(address, "digits", image).shape == (1, 10)
        with triton.InferenceServerClient(address) as client:
            assert not client.is_model_ready("broken")
        err = _stop(process)
    assert "broken: " in err
    assert "not an ONNX model" in err


@pytest.mark.parametrize("option", ["--http-port=0", "--one-port"])
def test_http_beside_grpc(option: str, cli_folder: Path, image: np.ndarray) -> None:
    words = (cli_folder / "lenet.onnx", option)
    with _served(cli_folder / "cache", *words) as (process, address, _):
        assert process.stdout is not None
        found = re.fullmatch(r"HTTP: http://(127\.0\.0\.1:\d+)/v2\n", process.stdout.readline())
        assert found
        assert (found[1] == address) == (option == "--one-port")
        with triton_http.InferenceServerClient(found[1]) as client:
            query = triton_http.InferInput("image", image.shape, "FP32")
            query.set_data_from_numpy(image)
            logits = client.infer("lenet", [query]).as_numpy("logits")
        assert np.array_equal(logits, _infer(address, "lenet", image))
        _stop(process)


def test_everything_over_tls(cli_folder: Path, tmp_path: Path, image: np.ndarray) -> None:
    shown = tls.identity(tmp_path, "server")
    files = ("--tls-cert", shown.certificate, "--tls-key", shown.key)
    words = (cli_folder / "lenet.onnx", "--http-port", "0", *files)
    with _served(cli_folder / "cache", *words) as (process, address, query):
        assert "--tls-ca" in query
        assert process.stdout is not None
        found = re.fullmatch(r"HTTP: https://(127\.0\.0\.1:\d+)/v2\n", process.stdout.readline())
        assert found
        trusts = ssl.create_default_context(cafile=str(shown.ca))
        with urllib.request.urlopen(f"https://{found[1]}/v2/health/ready", context=trusts) as ready:
            assert ready.status == 200
        asked = triton.InferInput("image", image.shape, "FP32")
        asked.set_data_from_numpy(image)
        with triton.InferenceServerClient(
            address, ssl=True, root_certificates=str(shown.ca)
        ) as client:
            assert client.infer("lenet", [asked]).as_numpy("logits").shape == (1, 10)
        _stop(process)


def test_a_wrong_file_of_tls_is_said_before_models_load(cli_folder: Path, tmp_path: Path) -> None:
    shown = tls.identity(tmp_path, "server")
    files = ["--tls-cert", shown.certificate, "--tls-key", shown.certificate]
    command = [*COMMAND, str(cli_folder / "lenet.onnx"), *map(str, files), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 1
    assert f"--tls-key {shown.certificate}: there is no private key in it" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("has_examples", [True, False])
def test_the_suggested_query_runs(cli_folder: Path, tmp_path: Path, has_examples: bool) -> None:
    """Its inputs have an open batch, of which the command must say the size."""
    model = cli_folder / "lenet.onnx"
    if not has_examples:
        model = shutil.copy(model, tmp_path / "lenet.onnx")
    with _served(cli_folder / "cache", model) as (process, _, query):
        assert ("--inputs" in query, "--shape" in query) == (has_examples, not has_examples)
        command = query.removeprefix("query: ").replace("10s", "10ms").strip()
        done = subprocess.run(
            f"{command} --warmup 0s --json -",
            shell=True,
            cwd=Path.cwd(),
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        _stop(process)
