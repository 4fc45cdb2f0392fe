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

from surplus.engine.devices.presets import Gpu
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph, ValueKind
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.work import Work, WorkCategory

EFFICIENCY = {
    WorkCategory.CONVOLUTION: (0.55, 0.75),
    WorkCategory.MATMUL: (0.65, 0.75),
    WorkCategory.GATHER: (0.10, 0.30),
    WorkCategory.STREAM: (0.25, 0.75),
    WorkCategory.ALIAS: (1.0, 1.0),
}
"""Share of the peak and of the bandwidth that each kind of operator reaches."""


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


def runs_on_gpu(graph: Graph, task: GraphTask) -> bool:
    """Whether a GPU takes the task: tensors only, no text, no classical machine learning."""
    values = [graph.tensors[i] for i in (*task.inputs, *task.outputs)]
    return task.node.domain != "ai.onnx.ml" and all(
        v.kind is ValueKind.TENSOR and v.elem_type != _STRING for v in values
    )


_STRING = 8
"""``onnx.TensorProto.STRING``."""
