"""A process ends as it should while daemon threads compute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from surplus import models

SCRIPT = Path(__file__).with_name("ending.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ending")
    models.save(models.build("lenet"), made / "lenet.onnx")
    return made


@pytest.mark.parametrize("how", ["asked", "measured"])
def test_the_exit_status_is_that_of_the_program(folder: Path, how: str) -> None:
    command = [sys.executable, str(SCRIPT), str(folder / "lenet.onnx"), str(folder / "cache"), how]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end\nthe machine is closed\n"
    assert done.stderr == ""
