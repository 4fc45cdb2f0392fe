"""What a CUDA device needs, and what of it is missing here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from surplus.engine import _core
from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.cuda_runtime import open_runtime
from surplus.engine.errors import DeviceError, RuntimeLibraryError
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


def cuda_parts() -> tuple[CudaPart, ...]:
    """All that a CUDA device needs, in the order in which it is usually missing."""
    return tuple(_parts())


def _parts() -> Iterator[CudaPart]:
    yield _part("driver", _driver, "NVIDIA's driver brings it")
    yield _part("CUDA runtime", _runtime, _GPU_EXTRA)
    yield _part("CUDA provider of ONNX Runtime", _provider, _GPU_EXTRA)
    yield _part("CUDA sessions of the core", _sessions, "a later version may")


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
    library = find_library()
    path = library.parent / PROVIDER
    if not path.is_file():
        raise DeviceError(f"{path.parent} has no {PROVIDER}: this ONNX Runtime is without CUDA")
    _check_same_version(library, path)
    return str(path)


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
                f"{PROVIDER} is of {name} {wheel.version}, ONNX Runtime beside it is {version}:"
                f" uninstall both packages, and install {name} alone"
            )


def _sessions() -> str:
    if not getattr(_core, "has_cuda_sessions", False):
        raise DeviceError("this build has no CUDA device: its core opens no sessions on the GPU")
    return "yes"
