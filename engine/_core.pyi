# Contract of the native core (the generated stub replaces this file).
from collections.abc import Sequence
from typing import Any
import numpy as np

def open_runtime(library_path: str) -> None:
    """Load ONNX Runtime (libonnxruntime.so.*) once: env, shared CPU arena, telemetry off.
    Idempotent for the same path. RuntimeError with the reason if missing/too old."""

def runtime_version() -> str: ...

class Value:
    """An immutable ONNX value: tensor (any element type, strings too), sequence, or optional."""
    @staticmethod
    def from_numpy(array: np.ndarray, elem_type: int) -> Value:
        """Wraps without a copy (C-contiguous, kept alive). elem_type is onnx.TensorProto.DataType:
        bf16/fp8/... arrays come as same-width integer views. object arrays of str -> strings.
        4-bit types: packed bytes with `shape` given separately (see from_packed)."""
    @staticmethod
    def from_packed(data: np.ndarray, elem_type: int, shape: Sequence[int]) -> Value: ...
    @staticmethod
    def sequence(items: Sequence[Value]) -> Value: ...
    @property
    def kind(self) -> str: ...  # "tensor" | "sequence" | "map" | "optional_none"
    @property
    def elem_type(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    def to_numpy(
        self,
    ) -> (
        np.ndarray
    ): ...  # zero-copy, read-only=False, raw integer view for bf16 etc.; object array for strings
    def items(self) -> list[Value]: ...

class Session:
    """One ONNX Runtime session outside any plan: profiling, reference, calibration."""
    def __init__(
        self,
        model: str | bytes,
        width: int = 1,
        level: str = "all",
        config: dict[str, str] = ...,
        optimized_path: str = "",
    ) -> None: ...
    input_names: list[str]
    output_names: list[str]
    input_info: list[
        tuple[str, str, int, list[int | str]]
    ]  # name, kind, elem_type, shape (-1 unknown)
    output_info: list[tuple[str, str, int, list[int | str]]]
    def run(self, inputs: dict[str, Value], outputs: Sequence[str] = ...) -> list[Value]: ...
    def time(
        self, inputs: dict[str, Value], repeats: int, budget_ns: int, warmup: int = 1
    ) -> list[int]:
        """Wall nanoseconds of each repeat, back to back, GIL released; stops at the budget but
        does at least one."""

class DeviceOptions:
    kind: str  # "cpu" | "emulated"
    name: str
    lanes: int
    replay: bool  # emulated: answer from outputs recorded on the first run
    submit_ns: int  # emulated: cost of a submission to the submitting thread
    slowdown: list[float]  # emulated: factor on service time with 1..lanes busy lanes
    memory_bytes: int  # emulated: 0 = unlimited
    first_run_ns: int  # emulated: extra cost of the first run of a segment
    fail_prepare: bool  # emulated, tests: refuse session creation
    fail_every: int  # emulated, tests: every n-th segment execution fails; 0 never
    h2d_latency_ns: int
    h2d_bytes_per_s: float
    d2h_latency_ns: int
    d2h_bytes_per_s: float

class Machine:
    """The devices of a process: queues, lanes, threads. Device i of the list is index i."""
    def __init__(
        self, devices: Sequence[DeviceOptions], spin_ns: int = 50_000, thread_budget: int = 0
    ) -> None: ...
    def close(self) -> None: ...  # orderly: runs in flight end with Cancelled
    def stats(
        self,
    ) -> dict[str, Any]: ...  # per device: executed, queued, spilled; live values, live bytes

class PlanBuilder:
    def __init__(self, machine: Machine) -> None: ...
    def add_value(self, name: str) -> int: ...
    def add_session(
        self,
        name: str,
        device: int,
        model: str | bytes,
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[tuple[str, int]],
        width: int = 1,
        rank: int = 0,
        service_ns: int = 0,
        level: str = "all",
        config: dict[str, str] = ...,
    ) -> int:
        """A segment. service_ns: what an emulated device charges. rank: planned start order."""
    def add_copy(
        self,
        name: str,
        source_device: int,
        target_device: int,
        source: int,
        target: int,
        rank: int = 0,
    ) -> int: ...
    def add_work(
        self,
        name: str,
        device: int,
        after: Sequence[int] = ...,
        spin_ns: int = 0,
        fail: bool = False,
        width: int = 1,
        rank: int = 0,
    ) -> int:
        """A node without ONNX: no-op or busy for spin_ns; tests and micro-benchmarks."""
    def set_inputs(self, values: Sequence[int]) -> None: ...
    def set_outputs(self, values: Sequence[int]) -> None: ...
    def build(self) -> Plan: ...

class Plan:
    """Immutable; many runs at once."""

    node_names: list[str]
    def submit(
        self,
        inputs: Sequence[Value | None],
        deadline_ns: int = 0,
        priority: int = 0,
        traced: bool = False,
        completions: CompletionQueue | None = None,
        tag: int = 0,
    ) -> Run:
        """deadline_ns: on the monotonic clock (time.monotonic_ns); 0 = none. Never blocks on lanes."""
    def run(
        self, inputs: Sequence[Value | None], timeout_s: float = -1
    ) -> list[Value]: ...  # submit + help + outputs

class Run:
    done: bool
    status: str  # "pending" | "ok" | "failed" | "cancelled" | "deadline"
    error: str  # first error, names the segment
    error_node: int
    tag: int
    def wait(self, timeout_s: float = -1, help: bool = True) -> bool: ...
    def cancel(self) -> None: ...
    def outputs(self) -> list[Value | None]: ...
    def spans(self) -> np.ndarray:
        """int64 (nodes, 5): node, lane, ready_ns, start_ns, end_ns since submission; lane -1 = skipped."""

class CompletionQueue:
    """For event loops: finished runs are pushed lock-free and the eventfd becomes readable."""
    def __init__(self) -> None: ...
    fd: int
    def drain(self) -> list[Run]: ...
