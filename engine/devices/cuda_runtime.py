"""CUDA's runtime through ctypes: what it takes to time copies on the wire, and no more."""

from __future__ import annotations

import ctypes

from surplus.engine.errors import DeviceError
from surplus.engine.native import find_cuda_library

_USUAL_NAMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so")
_NON_BLOCKING = 1
_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2


class CudaRuntime:
    """The runtime with one GPU chosen for the calling thread.

    Raises
    ------
    DeviceError
        If the library cannot be loaded, or a call fails, here and below.
    """

    def __init__(self, ordinal: int) -> None:
        self._library = open_runtime()
        self._call("cudaSetDevice", ctypes.c_int(ordinal))

    def device_memory(self, size_bytes: int) -> int:
        """Address of new memory of the GPU."""
        return self._made("cudaMalloc", ctypes.c_size_t(size_bytes))

    def pinned_memory(self, size_bytes: int) -> int:
        """Address of new pinned memory of the host."""
        return self._made("cudaHostAlloc", ctypes.c_size_t(size_bytes), ctypes.c_uint(0))

    def free_device_memory(self, address: int) -> None:
        """Give back what ``device_memory`` gave."""
        self._call("cudaFree", ctypes.c_void_p(address))

    def free_pinned_memory(self, address: int) -> None:
        """Give back what ``pinned_memory`` gave."""
        self._call("cudaFreeHost", ctypes.c_void_p(address))

    def used_memory(self) -> int:
        """Bytes of the GPU's memory that are taken, by whomever."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value

    def stream(self) -> int:
        """A new stream that does not wait for the default one."""
        return self._made("cudaStreamCreateWithFlags", ctypes.c_uint(_NON_BLOCKING))

    def event(self) -> int:
        """A new event that knows when it passed."""
        return self._made("cudaEventCreateWithFlags", ctypes.c_uint(0))

    def destroy(self, streams: list[int], events: list[int]) -> None:
        """End streams and events."""
        for stream in streams:
            self._call("cudaStreamDestroy", ctypes.c_void_p(stream))
        for event in events:
            self._call("cudaEventDestroy", ctypes.c_void_p(event))

    def copy_in(self, device: int, host: int, size_bytes: int, stream: int) -> None:
        """Copy to the GPU behind what was submitted to the stream."""
        self._copy(device, host, size_bytes, _HOST_TO_DEVICE, stream)

    def copy_out(self, device: int, host: int, size_bytes: int, stream: int) -> None:
        """Copy from the GPU behind what was submitted to the stream."""
        self._copy(host, device, size_bytes, _DEVICE_TO_HOST, stream)

    def record(self, event: int, stream: int) -> None:
        """The event passes when all that was submitted to the stream has."""
        self._call("cudaEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait_for(self, stream: int) -> None:
        """Return when the stream has nothing to do."""
        self._call("cudaStreamSynchronize", ctypes.c_void_p(stream))

    def elapsed_ns(self, first: int, last: int) -> float:
        """Time between two events that have passed; exact to half a microsecond."""
        milliseconds = ctypes.c_float()
        events = ctypes.c_void_p(first), ctypes.c_void_p(last)
        self._call("cudaEventElapsedTime", ctypes.byref(milliseconds), *events)
        return milliseconds.value * 1e6

    def _copy(self, target: int, source: int, size_bytes: int, kind: int, stream: int) -> None:
        self._call(
            "cudaMemcpyAsync",
            ctypes.c_void_p(target),
            ctypes.c_void_p(source),
            ctypes.c_size_t(size_bytes),
            ctypes.c_int(kind),
            ctypes.c_void_p(stream),
        )

    def _made(self, function: str, *arguments: object) -> int:
        made = ctypes.c_void_p()
        self._call(function, ctypes.byref(made), *arguments)
        return made.value or 0

    def code(self, function: str, *arguments: object) -> int:
        """CUDA's own result of a call, for those to whom a failure is an answer."""
        found: int = getattr(self._library, function)(*arguments)
        return found

    def _call(self, function: str, *arguments: object) -> None:
        if code := self.code(function, *arguments):
            raise DeviceError(f"{function} failed with CUDA error {code}")


def open_runtime() -> ctypes.CDLL:
    """CUDA's runtime library, found as the core finds it.

    Raises
    ------
    DeviceError
        Naming what was tried.
    """
    named = find_cuda_library()
    for name in [named] if named else _USUAL_NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    tried = named or ", ".join(_USUAL_NAMES)
    raise DeviceError(f"CUDA's runtime library cannot be loaded (tried {tried})")
