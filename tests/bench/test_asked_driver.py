"""The driver is asked in a process beside, so that its hang or crash is a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.gpu_check import __main__ as command
from bench.gpu_check.asked_driver import DRIVER, UNKNOWN, DriverFailedError, asked_title
from bench.gpu_check.parts import Part
from surplus.engine.errors import DeviceError

MACHINE = {"processor": "P", "cores": 2, "onnxruntime": "1", "commit": "c"}


@pytest.fixture(autouse=True)
def _drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def asked(folder: Path, driver: str) -> str:
    limit_s = 3 if driver == "hangs" else 120  # what ends may take long on a busy machine
    part = Part(driver, DRIVER.models, 1, limit_s=limit_s, package="misbehaving")
    return asked_title("cpu:1,cuda:0:4", folder, folder, MACHINE, part)


def stored(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize(("driver", "says"), [("hangs", "stopped after"), ("crashes", "SIGSEGV")])
def test_a_driver_that_hangs_or_crashes_leaves_a_result(
    tmp_path: Path, driver: str, says: str
) -> None:
    with pytest.raises(DriverFailedError, match=says):
        asked(tmp_path, driver)
    assert says in stored(tmp_path / UNKNOWN / f"{driver}.json")["units"]["none"]["error"]


def test_the_result_moves_to_the_folder_of_the_gpu(tmp_path: Path) -> None:
    assert asked(tmp_path, "named") == "FAKE GPU 9"
    assert stored(tmp_path / "FAKE-gpu-9" / "named.json")["machine"]["gpu"] == "FAKE GPU 9"
    assert not (tmp_path / UNKNOWN).exists()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="no libcuda"):
        asked(tmp_path, "missing")


def test_the_command_asks_no_driver_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object) -> str:
        raise DriverFailedError("stopped after 30 s")

    monkeypatch.setattr(command, "asked_title", failing)
    monkeypatch.setattr("sys.argv", ["gpu_check", "--results", str(tmp_path)])
    assert command.main() == 1
    assert "stopped after 30 s" in capsys.readouterr().err
