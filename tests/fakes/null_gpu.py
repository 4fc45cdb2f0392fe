"""A GPU whose kernels compute nothing, for ONNX Runtime's real CUDA provider.

The provider's library, as ``make test-cuda-provider`` fetches it, runs on a CUDA runtime, cuBLAS
and cuDNN of ours: what it asks of CUDA is checked as our core's own calls are (``fake_cuda.cpp``),
and what it does on the host is its own. All answers are zeros.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from surplus.engine.native import CUDA_VARIABLE, LIBRARY_VARIABLE
from tests.cuda_header_folders import MISSING, cuda_header_folders

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PROVIDER = ROOT / "build" / "cuda-provider" / "onnxruntime" / "capi"
"""Where `make test-cuda-provider` unpacks onnxruntime-gpu."""

_CORE_TESTS = ROOT / "engine" / "core" / "tests"
_RUNTIME = "libcudart.so.13"


@dataclass(frozen=True)
class NullGpu:
    """Where its libraries are, and ONNX Runtime's."""

    folder: Path
    runtime: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that has this GPU; it has no other one."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": f"{self.folder}:{os.environ.get('LD_LIBRARY_PATH', '')}",
            CUDA_VARIABLE: str(self.folder / _RUNTIME),
            LIBRARY_VARIABLE: str(self.runtime),
        }


def compiled(folder: Path) -> NullGpu:
    """Its libraries, or a skipped test that says what is missing."""
    found = sorted(PROVIDER.glob("libonnxruntime.so*"))
    if not found:
        pytest.skip("ONNX Runtime's CUDA provider is not here (make test-cuda-provider)")
    folders = cuda_header_folders()
    if not folders:
        pytest.skip(MISSING)
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    parts = []
    for source in (_CORE_TESTS / "fake_cuda.cpp", HERE / "null_runtime.cpp"):
        parts.append(folder / f"{source.stem}.o")
        includes = [f"-I{_CORE_TESTS}"]
        includes += [f"-isystem{folders[0]}"] if source.parent == HERE else []
        _call(compiler, "-std=c++20", "-O2", "-fPIC", *includes, "-c", source, "-o", parts[-1])
    _link(compiler, folder, _RUNTIME, *parts)
    for source, name in (
        (HERE / "null_cublas.cpp", "libcublas.so.13"),
        (HERE / "null_cublaslt.cpp", "libcublasLt.so.13"),
        (HERE / "null_cudnn.cpp", "libcudnn.so.9"),
        (HERE / "null_curand.cpp", "libcurand.so.10"),
        (HERE / "null_driver.cpp", "libcuda.so.1"),
    ):
        _link(compiler, folder, name, "-std=c++20", "-O2", source, folder / _RUNTIME)
    return NullGpu(folder, found[-1])


def _link(compiler: str, folder: Path, name: str, *parts: object) -> None:
    """A library with that soname, whose symbols have it as their version, as NVIDIA's have."""
    versions = folder / f"{name}.map"
    versions.write_text(f"{name} {{ *; }};\n")
    flags = (f"-Wl,-soname,{name}", f"-Wl,--version-script,{versions}", "-Wl,--no-as-needed")
    _call(compiler, "-shared", "-fPIC", *flags, *parts, "-ldl", "-o", folder / name)


def _call(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
