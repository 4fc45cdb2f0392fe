"""Derived service times on GPUs that are not here: a roofline with a floor per kernel.

time = max(kernels * floor, operations / (peak * efficiency), bytes / (bandwidth * efficiency))
       + synchronisations * wait

Peaks are single precision on the ordinary units, as in NVIDIA's data sheets; half precision
doubles them. The efficiencies are what well-filled library kernels reach; small ones sit on the
floor, which is what launching them takes: one thread launches no more than one kernel a floor. In
a captured graph kernels follow each other at a smaller floor, and nothing is launched one by one.
It is a stand-in until a measured profile is there, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from surplus.engine.dfg.graph import Graph, Task, ValueKind
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.work import Category, Work


@dataclass(frozen=True)
class Gpu:
    """What the roofline knows of a GPU.

    Parameters
    ----------
    title : str
        Its name in words.
    operations_per_s : float
        Single-precision peak.
    bytes_per_s : float
        Memory bandwidth.
    floor_ns : int
        Least time of one kernel, launch included.
    wait_ns : int
        One synchronisation of host and device.
    alias_ns : int
        Host time of an operator that launches nothing.
    memory_bytes : int
        Capacity.
    submit_ns : int
        What each segment takes the submitting thread before it can start: binding, waiting for
        events, the first launch.
    graph_floor_ns : int
        Least time of one kernel of a captured graph.
    """

    title: str
    operations_per_s: float
    bytes_per_s: float
    floor_ns: int
    wait_ns: int
    memory_bytes: int
    alias_ns: int = 1_000
    submit_ns: int = 10_000
    graph_floor_ns: int = 1_500


GPUS = {
    "titan_rtx": Gpu("Titan RTX (SIR+'s PF1)", 16e12, 672e9, 7_000, 35_000, 24 << 30),
    "t4": Gpu("T4", 8e12, 320e9, 8_000, 40_000, 16 << 30),
    "a100": Gpu("A100 40 GB", 19.5e12, 1.6e12, 6_000, 30_000, 40 << 30),
    "h200": Gpu("H200", 67e12, 4.8e12, 5_000, 20_000, 141 << 30),
}

EFFICIENCY = {
    Category.CONVOLUTION: (0.55, 0.75),
    Category.MATMUL: (0.65, 0.75),
    Category.GATHER: (0.10, 0.30),
    Category.STREAM: (0.25, 0.75),
    Category.ALIAS: (1.0, 1.0),
}
"""Share of the peak and of the bandwidth that each kind of operator reaches."""


SLOWDOWN = (1.0, 1.3, 1.6, 1.9, 2.2, 2.5, 2.8, 3.1)
"""Factor on service times with 1, 2, ... busy lanes: assumed, two lanes do 1.5 times as much as
one, four lanes twice as much. Kernels too small to fill a GPU share it better, large ones worse.
"""


def part_of(gpu: Gpu, share_percent: int) -> Gpu:
    """A share of a GPU's processors, with all of its memory bandwidth."""
    if share_percent == 100:
        return gpu
    return replace(gpu, operations_per_s=gpu.operations_per_s * share_percent / 100)


def launch_ns(work: Work, gpu: Gpu) -> int:
    """How long an operator keeps the submitting thread, if it is not part of a captured graph."""
    return work.kernels * gpu.floor_ns


def captured_time(work: Work, gpu: Gpu) -> int:
    """Service time of one operator in a captured graph, in nanoseconds."""
    return 0 if work.kernels == 0 else _time_ns(work, gpu, gpu.graph_floor_ns)


def derived_time(work: Work, gpu: Gpu) -> Timing:
    """Service time of one operator, launched by itself."""
    if work.kernels == 0 and work.synchronisations == 0:
        return Timing(gpu.alias_ns)
    return Timing(_time_ns(work, gpu, gpu.floor_ns))


def _time_ns(work: Work, gpu: Gpu, floor_ns: int) -> int:
    arithmetic, memory = EFFICIENCY[work.category]
    peak = gpu.operations_per_s * (2 if work.element_bits == 16 else 1)
    seconds = max(
        work.operations / (peak * arithmetic), work.bytes_moved / (gpu.bytes_per_s * memory)
    )
    least_ns = work.kernels * floor_ns
    return round(max(least_ns, seconds * 1e9)) + work.synchronisations * gpu.wait_ns


def origin_of(gpu: Gpu) -> str:
    """How the times came about, for the profile."""
    return (
        f"derived: roofline of a {gpu.title}, {gpu.operations_per_s / 1e12:g} TFLOP/s and"
        f" {gpu.bytes_per_s / 1e9:g} GB/s at assumed efficiencies, {gpu.floor_ns / 1e3:g} us a"
        f" kernel, {gpu.graph_floor_ns / 1e3:g} in a captured graph, lanes that slow each other as"
        " assumed; not measured"
    )


def runs_on_gpu(graph: Graph, task: Task) -> bool:
    """Whether a GPU takes the task: tensors only, no text, no classical machine learning."""
    values = [graph.tensors[i] for i in (*task.inputs, *task.outputs)]
    return task.node.domain != "ai.onnx.ml" and all(
        v.kind is ValueKind.TENSOR and v.elem_type != _STRING for v in values
    )


_STRING = 8
"""``onnx.TensorProto.STRING``."""
