"""CUDA libraries that are not there, compiled for the tests that ask them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

DRIVER, RUNTIME = "fake_cuda_driver", "fake_cuda_runtime"


def compiled(folder: Path, name: str = DRIVER) -> Path:
    """The library, or a skipped test where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    path, source = folder / f"lib{name}.so", Path(__file__).with_name(f"{name}.c")
    command = [compiler, "-shared", "-fPIC", "-w", str(source), "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path
