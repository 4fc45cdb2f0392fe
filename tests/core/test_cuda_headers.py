"""What the core takes CUDA's functions, structs and constants to be, against NVIDIA's headers.

The core has no headers of CUDA and finds its functions by name, so that only this tells a wrong
argument before a GPU does.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).with_name("cuda_headers.cpp")


def header_folders() -> Iterator[Path]:
    """NVIDIA's package, and what the system has."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield from Path(root).glob("cu*/include")
    yield from Path("/usr/local").glob("cuda-*/include")


def complete_folders() -> list[Path]:
    needed = ("cuda.h", "cuda_runtime_api.h", "crt/host_defines.h")
    return [
        folder for folder in header_folders() if all((folder / name).exists() for name in needed)
    ]


def compiled(source: Path, headers: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    includes = [f"-I{ROOT / 'engine' / 'core'}", f"-isystem{headers}"]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", *includes, str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("headers", complete_folders() or [None], ids=str)
def test_the_core_agrees_with_the_headers(headers: Path | None) -> None:
    if headers is None:
        pytest.skip("no CUDA headers (pip install nvidia-cuda-runtime nvidia-cuda-crt)")
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
    folders = complete_folders()
    if not folders:
        pytest.skip("no CUDA headers")
    text = CHECKS.read_text()
    assert text.count(ours) == 1
    changed = tmp_path / "changed.cpp"
    changed.write_text(text.replace(ours, wrong))
    assert "static assertion failed" in compiled(changed, folders[0]).stderr
