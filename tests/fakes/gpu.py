"""A GPU that is not there, as files: a driver, CUDA's runtime, ONNX Runtime with a CUDA provider.

The CUDA runtime is that of the core's tests; the provider is the CPU's over that runtime's memory
(``cpu_as_cuda.cpp``). A process with the environment ``environment`` sees a machine with a GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from surplus.engine.cuda_libraries import TENSORRT_LIBRARIES
from surplus.engine.devices.cuda_parts import PROVIDER
from surplus.engine.kernels.tensorrt import TENSORRT_PROVIDER
from surplus.engine.native import find_library

_ROOT = Path(__file__).parents[2]
_CORE = _ROOT / "engine" / "core"
_SOURCES = {
    "libfake_cuda.so": _CORE / "tests" / "fake_cuda.cpp",
    "libonnxruntime.so": Path(__file__).with_name("cpu_as_cuda.cpp"),
    "libcuda.so.1": Path(__file__).with_name("fake_cuda_driver.c"),
}


@dataclass(frozen=True)
class FakeGpu:
    """Where its libraries are."""

    folder: Path

    @property
    def cuda(self) -> Path:
        return self.folder / "libfake_cuda.so"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that has this GPU; it has no other one."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": f"{self.folder}:{os.environ.get('LD_LIBRARY_PATH', '')}",
            "SURPLUS_CUDA_LIBRARY": str(self.cuda),
            "SURPLUS_ORT_LIBRARY": str(self.folder / "libonnxruntime.so"),
            "CPU_AS_CUDA_RUNTIME": str(find_library()),
        }


def with_tensorrt(gpu: FakeGpu, folder: Path) -> FakeGpu:
    """The same with a TensorRT provider, that leaves all to CUDA's and counts its sessions."""
    shutil.copytree(gpu.folder, folder, dirs_exist_ok=True)
    (folder / TENSORRT_PROVIDER).touch()
    empty = folder / "empty.c"
    empty.touch()
    for name in TENSORRT_LIBRARIES:
        command = ["cc", "-shared", "-fPIC", str(empty), "-o", str(folder / name)]
        subprocess.run(command, check=True, timeout=60)
    return FakeGpu(folder)


def compiled(folder: Path) -> FakeGpu:
    """Its libraries, or a skipped test where there is no compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    flags = ["-shared", "-fPIC", "-O1", f"-I{_CORE}"]
    for name, source in _SOURCES.items():
        language = ["-x", "c", "-w"] if source.suffix == ".c" else ["-std=c++20"]
        command = [compiler, *flags, *language, str(source), "-o", str(folder / name), "-ldl"]
        subprocess.run(command, check=True, timeout=300)
    (folder / PROVIDER).touch()
    return FakeGpu(folder)
