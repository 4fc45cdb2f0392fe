"""`make gpu-check` asks a driver in a child: one that answers, refuses, hangs, crashes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.gpu import FakeGpu

_ROOT = Path(__file__).parents[2]
_ASK = """
import sys
from dataclasses import replace
from pathlib import Path
from bench.gpu_check.asked_driver import DRIVER, asked_title

folder, limit_s = Path(sys.argv[1]), float(sys.argv[2])
machine = {"processor": "P", "cores": 2, "onnxruntime": "1", "commit": "c"}
print(asked_title("cpu:1,cuda:0:2", folder, folder, machine, replace(DRIVER, limit_s=limit_s)))
"""


def asked(gpu: FakeGpu, folder: Path, code: int) -> subprocess.CompletedProcess[str]:
    """What a process says that asks while ``cuInit`` does this (fake_cuda_driver.c)."""
    limit_s = "3" if code == -1 else "120"  # what ends may take long on a busy machine
    command = [sys.executable, "-c", _ASK, str(folder), limit_s]
    environment = {**gpu.environment, "FAKE_CUINIT": str(code)}
    return subprocess.run(
        command, env=environment, cwd=_ROOT, capture_output=True, text=True, timeout=150
    )


def test_the_driver_names_the_gpu(gpu: FakeGpu, tmp_path: Path) -> None:
    done = asked(gpu, tmp_path, 0)
    title = done.stdout.strip()
    assert title.startswith("FAKE"), done.stderr
    (result,) = tmp_path.glob("*/driver.json")
    assert result.parent.name.startswith("FAKE")
    assert json.loads(result.read_text())["machine"]["gpu"] == title


@pytest.mark.parametrize(("code", "says"), [(-1, "stopped after"), (-2, "SIGABRT")])
def test_one_that_gives_no_answer_leaves_a_result(
    gpu: FakeGpu, tmp_path: Path, code: int, says: str
) -> None:
    done = asked(gpu, tmp_path, code)
    assert "DriverFailedError" in done.stderr
    result = json.loads((tmp_path / "unknown-gpu" / "driver.json").read_text())
    assert says in result["units"]["none"]["error"]


def test_one_that_refuses_is_missing(gpu: FakeGpu, tmp_path: Path) -> None:
    done = asked(gpu, tmp_path, 100)
    assert "DeviceError" in done.stderr
    assert "CUDA_ERROR_NO_DEVICE" in done.stderr
