"""What CUDA allows a thread while another captures, by the modes of both, and whether we do it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench.gpu_check.figures import Bar, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.small_segments import convolution_and_product, plan_of
from surplus.engine import _core
from surplus.engine.devices.cuda_runtime import CudaRuntime
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.parsing import parse_devices

_MODES = {"global": 0, "thread-local": 1, "relaxed": 2}
_PLANS = 5
ALLOWED = Bar("1", least=1, most=1)


@dataclass(frozen=True)
class _Answer:
    """A call of one thread during a capture of another; both codes are CUDA's."""

    call: str
    mode: str
    capture: str
    code: int
    capture_code: int


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Every call in every pair of modes on the bare runtime, then two machines of the core."""
    runtime = CudaRuntime(setting.ordinal)
    answers = [
        _asked(setting, runtime, call, mode, capture)
        for capture in ("global", "thread-local")
        for mode in _MODES
        for call in _calls(runtime)
    ]
    polls = [a for a in answers if a.call == "cudaEventQuery" and a.mode == "thread-local"]
    goes_on = float(all(a.code == 0 and a.capture_code == 0 for a in polls))
    failures, uncaptured = _machines(setting.gpu_name)
    rows = (
        figure("an event is polled in thread-local mode beside captures", goes_on, ALLOWED),
        figure("a machine serves while another captures", float(not failures), ALLOWED, failures),
        figure("and the other's captures succeed", float(not uncaptured), ALLOWED, uncaptured),
    )
    return Found(rows, {"calls": [asdict(answer) for answer in answers]})


def _calls(runtime: CudaRuntime) -> dict[str, Callable[[], int]]:
    """Calls that may be unsafe, each with what it needs."""
    pointer = ctypes.c_void_p()

    def query() -> int:
        event = runtime.event()
        code = runtime.code("cudaEventQuery", ctypes.c_void_p(event))
        runtime.destroy([], [event])
        return code

    def allocate_and_free() -> int:
        code = runtime.code("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(256))
        return code or runtime.code("cudaFree", pointer)

    def allocate_and_free_pinned() -> int:
        size, flags = ctypes.c_size_t(256), ctypes.c_uint(0)
        code = runtime.code("cudaHostAlloc", ctypes.byref(pointer), size, flags)
        return code or runtime.code("cudaFreeHost", pointer)

    def synchronize_stream() -> int:
        stream = runtime.stream()
        code = runtime.code("cudaStreamSynchronize", ctypes.c_void_p(stream))
        runtime.destroy([stream], [])
        return code

    return {
        "cudaEventQuery": query,
        "cudaMalloc, cudaFree": allocate_and_free,
        "cudaHostAlloc, cudaFreeHost": allocate_and_free_pinned,
        "cudaStreamSynchronize of another stream": synchronize_stream,
        "cudaDeviceSynchronize": lambda: runtime.code("cudaDeviceSynchronize"),
    }


def _asked(setting: Setting, runtime: CudaRuntime, call: str, mode: str, capture: str) -> _Answer:
    stream, graph = ctypes.c_void_p(runtime.stream()), ctypes.c_void_p()
    begun, asked = threading.Event(), threading.Event()
    codes: list[int] = []

    def captures() -> None:
        CudaRuntime(setting.ordinal)  # chooses the GPU for this thread
        runtime.code("cudaStreamBeginCapture", stream, ctypes.c_int(_MODES[capture]))
        begun.set()
        asked.wait()
        codes.append(runtime.code("cudaStreamEndCapture", stream, ctypes.byref(graph)))
        if graph:
            runtime.code("cudaGraphDestroy", graph)

    thread = threading.Thread(target=captures)
    thread.start()
    begun.wait()
    own = ctypes.c_int(_MODES[mode])
    runtime.code("cudaThreadExchangeStreamCaptureMode", ctypes.byref(own))
    code = _calls(runtime)[call]()
    runtime.code("cudaThreadExchangeStreamCaptureMode", ctypes.byref(own))
    asked.set()
    thread.join()
    runtime.destroy([stream.value or 0], [])
    runtime.code("cudaGetLastError")
    return _Answer(call, mode, capture, code, codes[0])


def _machines(gpu: str) -> tuple[str, str]:
    """Why the serving machine failed, and why the other captured nothing; empty where they did."""
    devices = parse_devices(f"cpu:1,{gpu}:2")
    serving, loading = open_machine(devices), open_machine(devices)
    segment = convolution_and_product()
    inputs = list(segment.inputs.values())
    served = plan_of(serving, 1, segment, captured=False)
    done, failed = threading.Event(), ""
    refused: list[str] = []

    def load() -> None:
        for _ in range(_PLANS):
            refused.extend(plan_of(loading, 1, segment, captured=True).uncaptured.values())
        done.set()

    thread = threading.Thread(target=load)
    thread.start()
    while not done.is_set() and not failed:
        failed = _failure(served, inputs)
    thread.join()
    serving.close()
    loading.close()
    return failed, "; ".join(sorted(set(refused)))


def _failure(plan: _core.Plan, inputs: list[_core.Value]) -> str:
    run = plan.execute(inputs)
    return "" if run.status == "ok" else run.error
