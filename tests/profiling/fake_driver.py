"""A CUDA driver that is not there, compiled for the tests that ask one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake_cuda_driver.c")


def compiled(folder: Path) -> Path:
    """The library, or a skipped test where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    path = folder / "libfake_cuda_driver.so"
    command = [compiler, "-shared", "-fPIC", "-w", str(SOURCE), "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path
