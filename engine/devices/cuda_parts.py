"""The parts that a CUDA device needs, and those that are missing here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from surplus.engine import _core
from surplus.engine.cuda_libraries import TENSORRT_LIBRARIES, preload_tensorrt
from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.cuda_runtime import open_runtime
from surplus.engine.errors import DeviceError, RuntimeLibraryError
from surplus.engine.kernels.tensorrt import TENSORRT_PROVIDER
from surplus.engine.native import find_library

PROVIDER = "libonnxruntime_providers_cuda.so"
"""What computes on the GPU; it comes with onnxruntime-gpu, beside ONNX Runtime itself."""

_GPU_EXTRA = "pip install 'surplus-engine[gpu]' brings it"


@dataclass(frozen=True)
class CudaPart:
    """One thing that a CUDA device needs.

    Parameters
    ----------
    name : str
        In words.
    found : str
        Where or in which version it is; empty if it is missing.
    missing : str
        Why it is missing and what brings it; empty if it is there.
    """

    name: str
    found: str
    missing: str = ""


def cuda_parts(*, tensorrt: bool = False) -> tuple[CudaPart, ...]:
    """All that a CUDA device needs, in the order in which it is usually missing.

    Parameters
    ----------
    tensorrt : bool
        Whether TensorRT's kernels are to come first.
    """
    return (*_parts(), *(_tensorrt_parts() if tensorrt else ()))


def _parts() -> Iterator[CudaPart]:
    yield _part("driver", _driver, "NVIDIA's driver brings it")
    yield _part("CUDA runtime", _runtime, _GPU_EXTRA)
    yield _part("CUDA provider of ONNX Runtime", _provider, _GPU_EXTRA)
    yield _part("CUDA sessions of the core", _sessions, "a later version may")


def _tensorrt_parts() -> Iterator[CudaPart]:
    yield _part("TensorRT provider of ONNX Runtime", _tensorrt_provider, _GPU_EXTRA)
    yield _part("TensorRT", _tensorrt, "pip install tensorrt brings it")


def _part(name: str, find: Callable[[], str], brings: str) -> CudaPart:
    try:
        return CudaPart(name, find())
    except (DeviceError, RuntimeLibraryError) as error:
        return CudaPart(name, "", f"{error} ({brings})")


def _driver() -> str:
    driver = read_driver()
    return f"for CUDA {driver.cuda_version}, {len(driver.gpus)} GPUs"


def _runtime() -> str:
    return str(open_runtime()._name)


def _provider() -> str:
    return _provider_library(PROVIDER, "CUDA")


def _tensorrt_provider() -> str:
    return _provider_library(TENSORRT_PROVIDER, "TensorRT")


def _provider_library(name: str, what: str) -> str:
    library = find_library()
    path = library.parent / name
    if not path.is_file():
        raise DeviceError(f"{path.parent} has no {name}: this ONNX Runtime is without {what}")
    _check_same_version(library, path)
    return str(path)


def _tensorrt() -> str:
    """Loaded by the name that the provider asks the dynamic linker for."""
    loaded = preload_tensorrt()
    if not loaded:
        raise DeviceError(f"there is no {TENSORRT_LIBRARIES[0]}")
    return str(loaded[0])


def _check_same_version(library: Path, provider: Path) -> None:
    """Refuse a provider of another version: they share C++ objects, not a stable interface.

    Two wheels in one folder do that, ``onnxruntime`` and ``onnxruntime-gpu``: the one that was
    installed later wins file by file, and their libraries have other names.
    """
    version = library.name.partition(".so.")[2]
    site = library.parents[2] if len(library.parents) > 2 else library.parent
    inside = str(provider.relative_to(site))
    for wheel in distributions(path=[str(site)]):
        name = wheel.metadata["Name"] or ""
        if not name.startswith("onnxruntime") or inside not in map(str, wheel.files or ()):
            continue
        if version and not f"{wheel.version}.".startswith(f"{version}."):
            raise DeviceError(
                f"{provider.name} is of {name} {wheel.version}, ONNX Runtime is {version}:"
                f" uninstall both packages, and install {name} alone"
            )


def _sessions() -> str:
    if not getattr(_core, "has_cuda_sessions", False):
        raise DeviceError("this build has no CUDA device: its core opens no sessions on the GPU")
    return "yes"
