"""What the core takes CUDA's functions, structs and constants to be, against NVIDIA's headers.

The core has no headers of CUDA and finds its functions by name, so that only this tells a wrong
argument before a GPU does.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cuda_header_folders import MISSING, cuda_header_folders

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).with_name("cuda_headers.cpp")


def compiled(source: Path, headers: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    includes = [f"-I{ROOT / 'engine' / 'core'}", f"-isystem{headers}"]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", *includes, str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("headers", cuda_header_folders() or [None], ids=str)
def test_the_core_agrees_with_the_headers(headers: Path | None) -> None:
    if headers is None:
        pytest.skip(MISSING)
    done = compiled(CHECKS, headers)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("ours", "wrong"),
    [
        ("cudaStreamWaitEvent)", "cudaEventRecord)"),  # other arguments
        ("cudaMalloc)", "cudaHostGetDevicePointer)"),  # a pointer for a number
        ("cuGreenCtxCreate)", "cuGreenCtxDestroy)"),  # fewer
        ("== cudaErrorNotReady", "== cudaErrorMemoryAllocation"),
    ],
)
def test_a_disagreement_is_found(ours: str, wrong: str, tmp_path: Path) -> None:
    folders = cuda_header_folders()
    if not folders:
        pytest.skip(MISSING)
    text = CHECKS.read_text()
    assert text.count(ours) == 1
    changed = tmp_path / "changed.cpp"
    changed.write_text(text.replace(ours, wrong))
    assert "static assertion failed" in compiled(changed, folders[0]).stderr
