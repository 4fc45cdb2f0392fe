"""``engine serve --policy`` as a process: targets, drops and refusals reach the client."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from surplus import models
from surplus.colocation.profiles.measured_profile import MeasuredModel, MeasuredProfile
from surplus.engine.cli import serve_policy
from surplus.engine.cli.main import _parser, main
from tests.scheduling.stage import CHAIN, chain_of, saved

WAIT_S = 120
SERVE = [sys.executable, "-m", "surplus.engine.cli.main", "serve"]
PREDICTED_MS = 30.0
"""What the profile says of every model; the deadlines below are far from it."""


def repository_of(folder: Path) -> Path:
    """A chain and LeNet as a repository."""
    repository = folder / "repository"
    for name, path in (("chain", saved(CHAIN, folder)), ("lenet", folder / "lenet.onnx")):
        if name == "lenet":
            models.save(models.build("lenet"), path)
        (repository / name / "1").mkdir(parents=True)
        path.rename(repository / name / "1" / "model.onnx")
    return repository


def profile_of(folder: Path) -> Path:
    shares = dict.fromkeys(("50", "100"), (PREDICTED_MS, PREDICTED_MS))
    one = MeasuredModel(1, (1, 4), shares, (0.0, 0.0))
    path = folder / "profile.json"
    path.write_text(MeasuredProfile("cpu:2", {"chain": one, "lenet": one}, {}).to_json())
    return path


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of gRPC and HTTP."""
    with started(tmp_path_factory.mktemp("served"), "--model-control") as addresses:
        yield addresses


@contextmanager
def started(folder: Path, *more: str) -> Iterator[tuple[str, str]]:
    words = ["--policy", "edf_drop", "--slo", "chain=100s", "--slo", "lenet=100s"]
    words += ["--devices", "cpu:2", "--max-batch", "4", "--profile", str(profile_of(folder))]
    words += ["--port", "0", "--http-port", "0", "--cache", str(folder / "cache")]
    command = [*SERVE, str(repository_of(folder)), *words, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        found = re.search(r"serving chain, lenet on (\S+) ", lines[0])
        assert found, lines
        yield found[1], lines[2].partition("//")[2].partition("/")[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 3), np.float32)


def grpc_input(array: np.ndarray, name: str = "x") -> triton.InferInput:
    tensor = triton.InferInput(name, array.shape, "FP32")
    tensor.set_data_from_numpy(array)
    return tensor


def http_input(array: np.ndarray) -> triton_http.InferInput:
    tensor = triton_http.InferInput("x", array.shape, "FP32")
    tensor.set_data_from_numpy(array)
    return tensor


def test_models_answer_side_by_side(process: tuple[str, str]) -> None:
    with triton.InferenceServerClient(process[0]) as client:
        for count in (1, 3):
            answer = client.infer("chain", [grpc_input(rows(count))], priority=1)
            for name, wanted in chain_of(rows(count)).items():
                np.testing.assert_allclose(answer.as_numpy(name), wanted, rtol=1e-3, atol=1e-4)
        image = np.zeros((2, 1, 28, 28), np.float32)
        assert client.infer("lenet", [grpc_input(image, "image")]).as_numpy("logits").shape == (
            2,
            10,
        )


def test_a_query_that_would_be_late_is_dropped_with_the_predicted_miss(
    process: tuple[str, str],
) -> None:
    with triton.InferenceServerClient(process[0]) as client:
        with pytest.raises(InferenceServerException) as caught:
            client.infer("chain", [grpc_input(rows(1))], timeout=10_000)
        assert "DEADLINE_EXCEEDED" in caught.value.status()
        assert re.search(r"predicted to end .* ms after it came", caught.value.message())
        assert client.get_inference_statistics("chain").model_stats[0].inference_stats.fail.count


def test_http_clients_get_the_same(process: tuple[str, str]) -> None:
    with triton_http.InferenceServerClient(process[1]) as client:
        answer = client.infer("chain", [http_input(rows(2))])
        np.testing.assert_allclose(
            answer.as_numpy("y"), chain_of(rows(2))["y"], rtol=1e-3, atol=1e-4
        )
        with pytest.raises(InferenceServerException, match="after its deadline of") as caught:
            client.infer("chain", [http_input(rows(1))], timeout=10_000)
        assert caught.value.status() == "504"


def test_how_the_policy_does_is_shown(
    process: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for address in (process[0], f"http://{process[1]}"):
        assert main(["top", address, "--once", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["policies"]
        assert (row["name"], row["devices"]) == ("edf_drop", 1)
        assert row["in_time"] <= row["most"] <= row["offered"]
    assert main(["top", address, "--once"]) == 0
    assert "any policy at most" in " ".join(capsys.readouterr().out.split())
    with urlopen(f"http://{process[1]}/metrics") as answer:
        assert 'surplus_policy_offered_queries{policy="edf_drop"}' in answer.read().decode()


def test_every_option_that_a_policy_can_keep_is_kept(tmp_path: Path) -> None:
    """Slices are groups of a policy that runs parts; a profile spares loading at the start."""
    options = ["--lazy", "--max-query-ms", "10000", "--max-load-s", "100"]
    with (
        started(tmp_path, *options, "--on-device-loss", "restart") as addresses,
        triton.InferenceServerClient(addresses[0]) as client,
    ):
        client.infer("chain", [grpc_input(rows(1))])


def test_a_model_leaves_and_comes_back(process: tuple[str, str]) -> None:
    with triton.InferenceServerClient(process[0]) as client:
        for _ in range(2):
            client.unload_model("lenet")  # twice is as good as once
        states = {row.name: (row.state, row.reason) for row in client_index(client)}
        assert states == {"chain": ("READY", ""), "lenet": ("UNAVAILABLE", "unloaded")}
        assert client.is_server_ready()
        assert not client.is_model_ready("lenet")
        image = np.zeros((1, 1, 28, 28), np.float32)
        with pytest.raises(InferenceServerException, match="unloaded") as caught:
            client.infer("lenet", [grpc_input(image, "image")])
        assert "UNAVAILABLE" in caught.value.status()
        client.infer("chain", [grpc_input(rows(1))])
        client.load_model("lenet")
        client.infer("lenet", [grpc_input(image, "image")])
        assert all(row.state == "READY" for row in client_index(client))
        with pytest.raises(InferenceServerException, match="unknown model 'none_such'"):
            client.load_model("none_such")


def test_a_model_leaves_and_comes_back_over_http(process: tuple[str, str]) -> None:
    with triton_http.InferenceServerClient(process[1]) as client:
        client.unload_model("chain")
        with pytest.raises(InferenceServerException, match="unloaded") as caught:
            client.infer("chain", [http_input(rows(1))])
        assert caught.value.status() == "503"
        client.load_model("chain")
        client.infer("chain", [http_input(rows(1))])


def test_clients_take_no_model_out_of_service_unless_they_may(tmp_path: Path) -> None:
    with started(tmp_path) as addresses, triton.InferenceServerClient(addresses[0]) as client:
        with pytest.raises(InferenceServerException, match="keeps its models") as caught:
            client.unload_model("lenet")
        assert "UNAVAILABLE" in caught.value.status()
        assert client.is_model_ready("lenet")


def client_index(client: triton.InferenceServerClient) -> Any:
    return client.get_model_repository_index().models


def test_too_many_rows_are_refused(process: tuple[str, str]) -> None:
    with triton.InferenceServerClient(process[0]) as client:
        with pytest.raises(InferenceServerException, match="5 rows; 1 to 4") as caught:
            client.infer("chain", [grpc_input(rows(5))])
        assert "INVALID_ARGUMENT" in caught.value.status()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--slo", "chain=1s"], "model 'lenet' has no latency target"),
        (["--slo", "chain=1s", "--slo", "lenet=1s", "--slo", "z=1s"], "there is no model 'z'"),
        (["--slo", "chain=1s", "--slo", "lenet=20ms"], "10 ms more than its target"),
        (["--slo", "chain=1s", "--slo", "lenet=fast"], "expected a duration such as 50ms"),
        (["--policy", "none_such"], "unknown policy 'none_such'"),
        (["--policy", "edf", "--lazy"], "--lazy: policy 'edf' decides by times that are measured"),
        (["--slice-ms", "1"], "--slice-ms: policy 'edf' runs models whole"),
        (["--policy", "abacus", "--slice-ms", "1", "--groups", "2"], "give one"),
        (
            ["--gpu-memory", "1GiB", "--slo", "chain=1s", "--slo", "lenet=1s"],
            "gpu_memory 1GiB: no CPU takes part in plans for 'cpu'",
        ),
        (["--max-load-s", "-1"], "max_query_ms must be >= 0"),
        (["--on-device-loss", "recreate"], "recreate: policy 'edf' has divided the devices"),
        (["--on-device-loss", "cpu"], "--on-device-loss cpu: policy 'edf' has divided the devices"),
        (["--on-device-loss", "fail"], "model 'chain' has no latency target"),  # as it may
        (["--policy", "heft", "--shares", "50,100"], "--shares: need a policy for several"),
        (["--policy", "heft", "--max-batch", "-1"], "max_batch must be 0 to "),
        (
            ["--policy", "heft", "--compiled", "chain=c.toml"],
            "--compiled: need a policy for several",
        ),
        (["--slo", "chain=1s", "--rate", "chain=x"], "--rate chain: expected queries a second"),
        (["--slo", "chain=1s", "--rate", "chain=-1"], "the rate of 'chain' must be >= 0, got -1"),
        (["--slo", "chain=1s", "--rate", "chain=nan"], "the rate of 'chain' must be >= 0, got nan"),
        (
            ["--slo", "chain=1s", "--slo", "lenet=1s", "--groups", "99"],
            "model 'chain': 7 operators cannot be cut into 99 groups",
        ),
        (["--slo", "chain=1s", "--slo", "lenet=1s", "--compiled", "chain=c.toml"], "c.toml"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_served(
    tmp_path: Path,
    words: list[str],
    wanted: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_served(*_: object, **__: object) -> None:  # for ever, had it begun
        raise AssertionError("is served, not refused")

    monkeypatch.setattr("surplus.engine.serving.life.announce", is_served)
    command = ["serve", str(repository_of(tmp_path)), "--policy", "edf", "--devices", "cpu:2"]
    command += ["--port", "0", "--cache", str(tmp_path / "cache")]
    if "--policy" not in words:
        command += ["--profile", str(profile_of(tmp_path)), "--max-batch", "4"]
    assert main([*command, *words]) == 1
    assert wanted in capsys.readouterr().err


def test_any_bits_reach_the_policy() -> None:
    words = ["serve", "m", "--policy", "edf", "--slo", "m=1s"]
    for more, wanted in (([], False), (["--any-bits"], True)):
        asked = serve_policy.asked(_parser(["serve"]).parse_args([*words, *more]))
        assert asked is not None
        assert asked.policy.of_model("m").any_bits is wanted
