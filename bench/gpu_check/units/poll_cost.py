"""What it costs to ask an event whether it has passed."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

from bench.gpu_check.figures import Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from surplus.engine.devices.cuda_runtime import CudaRuntime

_CALLS, _ROUNDS = 2000, 15
_COPY_BYTES, _COPIES = 64 << 20, 200
NOT_READY = 600


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Calls through ctypes, less what a call that does nothing takes that way.

    Of an event that has passed, and of one behind copies that take some hundred milliseconds.
    """
    runtime = CudaRuntime(setting.ordinal)
    stream, event = runtime.stream(), runtime.event()
    host, device = runtime.pinned_memory(_COPY_BYTES), runtime.device_memory(_COPY_BYTES)
    asked = ctypes.c_void_p(event)
    rows: dict[str, list[float]] = {"nothing": [], "has passed": [], "waits": []}
    codes: list[int] = []
    for _ in range(_ROUNDS):
        rows["nothing"].append(_call_ns(lambda: runtime.code("cudaPeekAtLastError")))
        runtime.record(event, stream)
        runtime.wait_for(stream)
        rows["has passed"].append(_call_ns(lambda: runtime.code("cudaEventQuery", asked)))
        for _ in range(_COPIES // _ROUNDS):
            runtime.copy_in(device, host, _COPY_BYTES, stream)
        runtime.record(event, stream)
        rows["waits"].append(_call_ns(lambda: runtime.code("cudaEventQuery", asked)))
        codes.append(runtime.code("cudaEventQuery", asked))
        runtime.wait_for(stream)
        runtime.code("cudaGetLastError")
    runtime.destroy([stream], [event])
    runtime.free_device_memory(device)
    runtime.free_pinned_memory(host)
    nothing = statistics.median(rows["nothing"])
    late = sum(code == NOT_READY for code in codes)
    note = f"{late} of {_ROUNDS} events had still not passed at the end"
    figures = (
        figure("an event that has passed: ns", statistics.median(rows["has passed"]) - nothing),
        figure("one that waits: ns", statistics.median(rows["waits"]) - nothing, note=note),
    )
    return Found(figures, {"ns a call": rows})


def _call_ns(call: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    for _ in range(_CALLS):
        call()
    return (time.perf_counter_ns() - began) / _CALLS
