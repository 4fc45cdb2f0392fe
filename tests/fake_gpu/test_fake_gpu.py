"""What only a process with a GPU can test runs in processes of its own, with a fake one.

ONNX Runtime is opened once in a process, and the others need the real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.gpu import FakeGpu, with_tensorrt
from tests.verbs_elsewhere import engine_in

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "cases",
    [
        "core/cuda_on_fake_gpu.py",
        "profiling/measured_on_fake_gpu.py",
        "fake_gpu/models_on_fake_gpu.py",
        "fake_gpu/losses_on_fake_gpu.py",
        "fake_gpu/first_queries_on_fake_gpu.py",
        "fake_gpu/instances_on_fake_gpu.py",
        "fake_gpu/shared_memory_on_fake_gpu.py",
    ],
)
def test_on_a_fake_gpu(gpu: FakeGpu, cases: str) -> None:
    on_a_fake_gpu(gpu.environment, cases)


def on_a_fake_gpu(environment: Mapping[str, str], cases: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / cases)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_on_two_fake_gpus(gpu: FakeGpu) -> None:
    on_a_fake_gpu({**gpu.environment, "FAKE_GPUS": "2"}, "fake_gpu/two_gpus_on_fake_gpu.py")


def test_tensorrt_by_segment(gpu: FakeGpu, tmp_path: Path) -> None:
    test_on_a_fake_gpu(with_tensorrt(gpu, tmp_path), "fake_gpu/tensorrt_on_fake_gpu.py")


def test_verbs_reach_the_gpu(gpu: FakeGpu, tmp_path: Path) -> None:
    engine = engine_in(tmp_path, gpu.environment)
    assert "Fake GPU 0" in engine("devices")
    engine("models", "build", "lenet", "-o", "lenet.onnx")
    devices = ("--devices", "cpu:1,cuda:0:2")
    engine("profile", "lenet.onnx", *devices, "-o", "profile.json")
    profile = ("--profile", "profile.json")
    table = engine("place", "lenet.onnx", *profile, "--policy", "single", "-o", "placement.json")
    assert "cpu / cuda:0" in table
    placed = ("--placement", "placement.json", "--compare", "--repeat", "1", "--json")
    told = json.loads(engine("run", "lenet.onnx", *devices, *profile, *placed))
    assert told["policy"] == "single"
    assert told["largest_relative_difference"] == 0
