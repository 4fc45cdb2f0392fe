"""``engine serve`` loses its GPU with queries in flight: all end, and it says how it goes on."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

from surplus import models
from tests.fakes.gpu import FakeGpu

WAIT_S = 120
HERE = Path(__file__).parent
PARAMETERS = {"tasks": 2, "width": 8}
INPUTS = models.example_inputs("multi_task", **PARAMETERS)
IN_FLIGHT = 40


@dataclass(frozen=True)
class Served:
    """The server's process, and a client."""

    process: subprocess.Popen[str]
    client: triton.InferenceServerClient

    def ask(self, count: int = 1) -> list[dict[str, np.ndarray] | str]:
        """Answers of queries that are all in flight at once, or why there is none."""
        inputs = []
        for name, array in INPUTS.items():
            inputs.append(triton.InferInput(name, array.shape, "FP32"))
            inputs[-1].set_data_from_numpy(array)
        ended: queue.SimpleQueue[tuple[triton.InferResult | None, Exception | None]]
        ended = queue.SimpleQueue()
        for _ in range(count):
            self.client.async_infer(
                "m", inputs, lambda result, error: ended.put((result, error)), client_timeout=WAIT_S
            )
        return [_told(*ended.get(timeout=WAIT_S)) for _ in range(count)]

    def lose(self, nth: int) -> None:
        """Lose the GPU at the ``nth`` next operation that it executes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(f"execute {nth} 700", file=self.process.stdin, flush=True)
        while "injected" not in self.process.stdout.readline():
            assert self.process.poll() is None

    def health(self) -> tuple[bool, bool, str, str]:
        """Server ready, model ready, the model's state and its reason."""
        (row,) = self.client.get_model_repository_index().models
        ready = self.client.is_server_ready(), self.client.is_model_ready("m")
        return *ready, row.state, row.reason


def _told(result: triton.InferResult | None, error: Exception | None) -> object:
    if result is None:
        return str(error)
    return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


@contextmanager
def served(gpu: FakeGpu, folder: Path, choice: str, policy: str = "single") -> Iterator[Served]:
    command = [sys.executable, str(HERE / "losing_server.py"), str(folder / "m.onnx")]
    # Where a CPU takes part, a policy's plan may leave nothing to the GPU.
    devices = ["cpu:1,cuda:0:2"] if policy == "single" else ["cuda:0:2", "--slo", "m=100s"]
    command += ["--devices", *devices, "--policy", policy, "--port", "0"]
    command += ["--cache", str(folder / "cache"), "--on-device-loss", choice]
    process = subprocess.Popen(
        command,
        env={**gpu.environment, "PYTHONPATH": str(HERE.parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"serving m on (\S+) ", first)
        assert found, process.communicate()
        with triton.InferenceServerClient(found[1]) as client:
            yield Served(process, client)
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    models.save(models.build("multi_task", **PARAMETERS), path / "m.onnx")
    return path


@pytest.mark.parametrize("policy", ["single", "edf"])
def test_a_server_that_lost_its_gpu_ends_with_a_status_of_its_own(
    gpu: FakeGpu, folder: Path, policy: str
) -> None:
    with served(gpu, folder, "restart", policy) as server:
        (right,) = server.ask()
        server.lose(nth=30 if policy == "single" else 1)  # a policy computes queries together
        assert not all(is_right(told, right) for told in server.ask(IN_FLIGHT))
        _, err = server.process.communicate(timeout=WAIT_S)
    assert server.process.returncode == 75, err
    assert "device 'cuda:0' is lost: " in err
    assert "only a new process can use it again; the server ends, to be started again" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("choice", ["fail", "recreate", "cpu"])
def test_every_query_in_flight_ends_and_the_server_says_how_it_goes_on(
    gpu: FakeGpu, folder: Path, choice: str
) -> None:
    with served(gpu, folder, choice) as server:
        (right,) = server.ask()
        assert isinstance(right, dict)
        assert server.health() == (True, True, "READY", "")
        server.lose(nth=30)
        lost = [told for told in server.ask(IN_FLIGHT) if not is_right(told, right)]
        assert lost
        assert all("device 'cuda:0' is lost: " in str(told) for told in lost)
        if choice == "fail":
            (told,) = server.ask()
            assert "model 'm' version 1 is UNAVAILABLE: device 'cuda:0' is lost: " in str(told)
            *ready, reason = server.health()
            assert ready == [False, False, "UNAVAILABLE"]
            assert "device 'cuda:0' is lost: " in reason
        else:
            assert all(is_right(told, right) for told in server.ask(IN_FLIGHT))
            *ready, reason = server.health()
            assert ready == [True, True, "READY"]
            assert ("; queries go on with cpu" in reason) == (choice == "cpu")
        server.process.send_signal(signal.SIGTERM)
        out, err = server.process.communicate(timeout=WAIT_S)
    assert server.process.returncode == 0, err
    assert out.endswith("violations: \n")
    goes_on = {"fail": 0, "recreate": "cpu, cuda:0\n", "cpu": "cpu\n"}[choice]
    assert err.count("queries go on with ") == bool(goes_on)
    assert not goes_on or f"; queries go on with {goes_on}" in err
    assert "Traceback" not in err


def is_right(told: object, right: dict[str, np.ndarray]) -> bool:
    if not isinstance(told, dict):
        return False
    for name, wanted in right.items():
        np.testing.assert_allclose(told[name], wanted, rtol=1e-5, atol=1e-6)
    return True
