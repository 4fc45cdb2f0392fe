"""ONNX Runtime's real CUDA provider without a GPU, where `make test-cuda-provider` fetched it.

In processes of its own: ONNX Runtime is opened once in a process, and the others have the CPU's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.gpu_check.parts import first
from tests.fakes.null_gpu import NullGpu, compiled
from tests.verbs_elsewhere import engine_in

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> NullGpu:
    return compiled(tmp_path_factory.mktemp("null_gpu"))


@pytest.mark.parametrize(("cases", "gpus"), [("provider", "1"), ("two_gpus", "2")])
def test_the_provider_does_as_the_core_expects(gpu: NullGpu, cases: str, gpus: str) -> None:
    file = HERE / f"{cases}_on_null_gpu.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    environment = {**gpu.environment, "FAKE_GPUS": gpus}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_stage_of_the_gpu_check_answers_and_says_fake(
    gpu: NullGpu, tmp_path: Path
) -> None:
    words = ["--devices", "cpu:1,cuda:0:2", "--first", "--results", str(tmp_path)]
    command = [sys.executable, "-m", "bench.gpu_check", *words, "--work", str(tmp_path / "work")]
    done = subprocess.run(command, env=gpu.environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "FAKE-null-gpu-computes-nothing"
    assert "**FAKE: no GPU took part.**" in (folder / "README.md").read_text()
    rows = {
        row["what"]: row["met"]
        for part in first()
        for unit in json.loads((folder / f"{part.name}.json").read_text())["units"].values()
        for row in unit["figures"]
    }
    assert rows["a machine serves while another captures"]
    assert rows["and the other's captures succeed"]


def test_verbs_reach_the_provider(gpu: NullGpu, tmp_path: Path) -> None:
    engine = engine_in(tmp_path, gpu.environment)
    assert "Null GPU" in engine("devices")
    parameters = ("--param", "classes=3", "--param", "image_size=64", "--param", "proposals=50")
    engine("models", "build", "faster_rcnn", *parameters, "-o", "m.onnx")
    devices = ("--devices", "cpu:1,cuda:0:2")
    engine("profile", "m.onnx", *devices, "-o", "profile.json")
    measured = json.loads((tmp_path / "profile.json").read_text())["tasks"]
    launched = [task for task in measured if task["launch_ns"].get("cuda:0")]
    assert {"Conv", "Gemm", "Gather", "NonZero"} <= {task["op"] for task in launched}
    asked = ("--policy", "single", "--repeat", "2", "--json")
    assert json.loads(engine("run", "m.onnx", *devices, *asked))["policy"] == "single"
