"""How long cuBLAS takes for products of float32 matrices, by the workspace that its handle has.

cuBLAS reads the size once a process, so each is a unit of its own.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import time

from bench.gpu_check.figures import Found, figure
from bench.gpu_check.parts import OF_THE_LIBRARY, ModelSpec
from bench.gpu_check.setting import Setting
from surplus.engine.cuda_libraries import WORKSPACE_VARIABLE, preload
from surplus.engine.devices.cuda_runtime import CudaRuntime
from surplus.engine.errors import DeviceError
from surplus.engine.native import find_cuda_library

SHAPES = {
    "BERT, attention": (768, 128, 768),
    "BERT, inner side 3072": (768, 128, 3072),
    "a detector's head": (1024, 100, 12544),
    "a detector's head, 1000 boxes": (1024, 1000, 12544),
    "a classifier": (1000, 1, 2048),
    "4096 x 8, inner side 4096": (4096, 8, 4096),
}
"""Rows, columns, inner side."""

_OPERAND_BYTES = 256 << 20
_CALLS, _ROUNDS, _HANDLES = 50, 5, 8


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Products in a row on one handle, the median of some rounds; and what a handle takes."""
    asked = str(spec.parameters["workspace"])
    # Empty, it is to cuBLAS as if nobody had set it.
    os.environ[WORKSPACE_VARIABLE] = "" if asked == OF_THE_LIBRARY else asked
    preload(runtime=find_cuda_library())
    runtime = CudaRuntime(setting.ordinal)
    cublas = _Cublas(runtime)
    before = runtime.used_memory()
    handles = [cublas.handle() for _ in range(_HANDLES)]
    taken = (runtime.used_memory() - before) / _HANDLES
    for handle in handles:
        cublas.destroy(handle)
    handle = cublas.handle()
    times = {name: _ns(runtime, cublas, handle, shape) for name, shape in SHAPES.items()}
    cublas.destroy(handle)
    rows = [figure(f"{name}: us", ns / 1e3) for name, ns in times.items()]
    rows.append(figure("memory of a handle: MiB", taken / 2**20))
    return Found(tuple(rows), {"ns": times, "rows, columns, inner side": SHAPES})


def _ns(runtime: CudaRuntime, cublas: _Cublas, handle: int, shape: tuple[int, int, int]) -> float:
    rounds = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter_ns()
        for _ in range(_CALLS):
            cublas.multiply(handle, shape)
        runtime.wait_for(0)
        rounds.append((time.perf_counter_ns() - began) / _CALLS)
    return statistics.median(rounds[1:])  # the first finds its kernels


class _Cublas:
    """What is needed of cuBLAS, on the stream that a handle begins with."""

    def __init__(self, runtime: CudaRuntime) -> None:
        for name in ("libcublas.so.13", "libcublas.so.12"):
            try:
                self._library = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            raise DeviceError("cuBLAS cannot be loaded (tried libcublas.so.13, libcublas.so.12)")
        self._matrices = [runtime.device_memory(_OPERAND_BYTES) for _ in range(3)]

    def handle(self) -> int:
        made = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(made))
        return made.value or 0

    def destroy(self, handle: int) -> None:
        self._call("cublasDestroy_v2", ctypes.c_void_p(handle))

    def multiply(self, handle: int, shape: tuple[int, int, int]) -> None:
        rows, columns, inner = map(ctypes.c_int, shape)
        left, right, product = map(ctypes.c_void_p, self._matrices)
        one, none = ctypes.c_float(1), ctypes.c_float(0)
        plain = ctypes.c_int(0)
        sizes = (plain, plain, rows, columns, inner)
        operands = (ctypes.byref(one), left, rows, right, inner, ctypes.byref(none), product, rows)
        self._call("cublasSgemm_v2", ctypes.c_void_p(handle), *sizes, *operands)

    def _call(self, function: str, *arguments: object) -> None:
        if code := getattr(self._library, function)(*arguments):
            raise DeviceError(f"{function} failed with cuBLAS' status {code}")
