"""Whether a device that the user named can be driven here."""

from __future__ import annotations

from ctypes.util import find_library

from engine.errors import DeviceError
from engine.profiling.devices import DeviceSpec


def check_present(spec: DeviceSpec) -> None:
    """Refuse a GPU that this machine or this build cannot drive.

    Raises
    ------
    DeviceError
        Saying what is missing, and what stands in for it.
    """
    if spec.kind != "cuda":
        return
    if find_library("cuda") is None and find_library("cudart") is None:
        reason = "no CUDA library found (libcuda.so of the driver, libcudart.so of the runtime)"
    else:
        reason = "this build has no CUDA device"
    raise DeviceError(f"device {spec.name!r}: {reason}; emulated:gpu stands in for a GPU")
