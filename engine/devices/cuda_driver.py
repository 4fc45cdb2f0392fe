"""What NVIDIA's driver says of the GPUs of this machine, asked through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from surplus.engine.errors import DeviceError

LIBRARY = "libcuda.so.1"
"""The driver's library; its suffix has been 1 for all of CUDA's history."""

_SMS, _MAJOR, _MINOR = 16, 75, 76
"""Numbers of CUdevice_attribute in cuda.h."""


@dataclass(frozen=True)
class GpuFacts:
    """One GPU as its driver describes it.

    Parameters
    ----------
    index : int
        CUDA's number of it, after ``CUDA_VISIBLE_DEVICES``.
    name : str
        For example ``NVIDIA H200``.
    memory_bytes : int
        All of its memory.
    sms : int
        Streaming multiprocessors.
    capability : str
        Compute capability, for example ``9.0``.
    """

    index: int
    name: str
    memory_bytes: int
    sms: int
    capability: str


@dataclass(frozen=True)
class DriverFacts:
    """The driver's newest CUDA version, for example ``13.0``, and its GPUs, at least one."""

    cuda_version: str
    gpus: tuple[GpuFacts, ...]


def read_driver() -> DriverFacts:
    """Ask the driver; a few milliseconds, and no memory of a GPU is taken.

    Raises
    ------
    DeviceError
        If there is no driver, it does not start, or it sees no GPU.
    """
    driver = _Driver()
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.call("cuDriverGetVersion", ctypes.byref(version))
    driver.call("cuDeviceGetCount", ctypes.byref(count))
    if count.value == 0:
        raise DeviceError("the CUDA driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)")
    gpus = tuple(_facts(driver, index) for index in range(count.value))
    return DriverFacts(f"{version.value // 1000}.{version.value % 1000 // 10}", gpus)


def used_memory_bytes(index: int) -> int:
    """Memory of a GPU that all processes together hold; keeps its primary context from now on.

    Raises
    ------
    DeviceError
        If the driver does not say.
    """
    driver = _Driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxPushCurrent_v2", context)
    try:
        driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    finally:
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(context))
    return total.value - free.value


def _facts(driver: _Driver, index: int) -> GpuFacts:
    device, size = ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
    driver.call("cuDeviceGetName", name, ctypes.c_int(len(name)), device)
    driver.call("cuDeviceTotalMem_v2", ctypes.byref(size), device)
    sms, major, minor = (driver.attribute(number, device) for number in (_SMS, _MAJOR, _MINOR))
    return GpuFacts(index, name.value.decode(), size.value, sms, f"{major}.{minor}")


class _Driver:
    """The open library, started."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise DeviceError(f"no CUDA driver: {error}") from error
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, function: str, *arguments: object) -> None:
        try:
            code = getattr(self._library, function)(*arguments)
        except AttributeError as error:
            raise DeviceError(f"the CUDA driver {LIBRARY} lacks {function}") from error
        if code:
            raise DeviceError(f"{function} failed with CUDA error {code}{self._name(code)}")

    def attribute(self, number: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), device)
        return value.value

    def _name(self, code: int) -> str:
        text = ctypes.c_char_p()
        failed = self._library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
        return "" if failed or text.value is None else f" ({text.value.decode()})"
