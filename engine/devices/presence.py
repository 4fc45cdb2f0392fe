"""Whether a device that the user named can be driven here, and what is missing if not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surplus.engine import _core
from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.cuda_runtime import open_runtime
from surplus.engine.devices.plugins import PREFIX, read_plugin
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import DeviceError, RuntimeLibraryError
from surplus.engine.native import find_library

PROVIDER = "libonnxruntime_providers_cuda.so"
"""What computes on the GPU; it comes with onnxruntime-gpu, beside ONNX Runtime itself."""

_DIVIDES = hasattr(_core.CudaOptions, "sms")
"""Whether the core makes partitions of a GPU."""

_GPU_EXTRA = "pip install 'surplus-engine[gpu]' brings it"


@dataclass(frozen=True)
class Part:
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


def check_present(spec: DeviceSpec) -> None:
    """Refuse a GPU that this machine or this build cannot drive; registers a plugin provider.

    Raises
    ------
    DeviceError
        Naming the first thing that is missing, what brings it, and what stands in for a GPU.
    """
    if spec.kind == "plugin":
        _check_plugin(spec)
    if spec.kind != "cuda":
        return
    for part in cuda_parts():
        if part.missing:
            raise _refusal(spec, part.missing)
    gpus, index = read_driver().gpus, int(spec.memory.partition(":")[2])
    if index >= len(gpus):
        raise _refusal(spec, f"the driver sees {len(gpus)} GPUs, numbered from 0")
    if spec.sms and not _DIVIDES:
        raise _refusal(spec, "this build cannot divide a GPU into partitions")


def cuda_parts() -> tuple[Part, ...]:
    """All that a CUDA device needs, in the order in which it is usually missing."""
    return tuple(_parts())


def _parts() -> Iterator[Part]:
    yield _part("driver", _driver, "NVIDIA's driver brings it")
    yield _part("CUDA runtime", _runtime, _GPU_EXTRA)
    yield _part("CUDA provider of ONNX Runtime", _provider, _GPU_EXTRA)
    yield _part("CUDA sessions of the core", _sessions, "a later version may")


def _part(name: str, find: Callable[[], str], brings: str) -> Part:
    try:
        return Part(name, find())
    except (DeviceError, RuntimeLibraryError) as error:
        return Part(name, "", f"{error} ({brings})")


def _driver() -> str:
    driver = read_driver()
    return f"for CUDA {driver.cuda_version}, {len(driver.gpus)} GPUs"


def _runtime() -> str:
    return str(open_runtime()._name)


def _provider() -> str:
    path = find_library().parent / PROVIDER
    if not path.is_file():
        raise DeviceError(f"{path.parent} has no {PROVIDER}: this ONNX Runtime is without CUDA")
    return str(path)


def _sessions() -> str:
    if not getattr(_core, "has_cuda_sessions", False):
        raise DeviceError("this build has no CUDA device: its core opens no sessions on the GPU")
    return "yes"


def _check_plugin(spec: DeviceSpec) -> None:
    try:
        read_plugin(spec.name.removeprefix(PREFIX))
    except DeviceError as error:
        raise _refusal(spec, str(error)) from error


def _refusal(spec: DeviceSpec, reason: str) -> DeviceError:
    return DeviceError(f"device {spec.name!r}: {reason}; emulated:gpu stands in for a GPU")
