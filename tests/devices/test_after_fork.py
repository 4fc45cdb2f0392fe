import subprocess
import sys
from pathlib import Path

import pytest

from surplus import models

SCRIPT = Path(__file__).with_name("forking.py")


@pytest.mark.parametrize("devices", ["cpu:2", "cpu:1,emulated:gpu"])
def test_a_forked_child_says_what_is_wrong_and_ends(tmp_path: Path, devices: str) -> None:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), str(path), str(tmp_path / "cache"), devices],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first == second
    assert "load models after the fork" in first
    assert last == "parent goes on"
