"""Work of an operator from its shapes: operations, bytes, kernels, synchronisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import onnx

from surplus.engine.dfg.captures import sub_graphs
from surplus.engine.dfg.constants import stored_bytes
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.signature import Observed

Shape = tuple[int, ...]


class WorkCategory(StrEnum):
    """How an operator uses a GPU."""

    CONVOLUTION = "convolution"
    MATMUL = "matmul"
    GATHER = "gather"
    STREAM = "stream"
    ALIAS = "alias"


@dataclass(frozen=True)
class Work:
    """What an operator does on a GPU.

    Parameters
    ----------
    operations : float
        Floating-point operations; a multiply-add counts two.
    bytes_moved : int
        Inputs, weights and outputs, each once.
    kernels : int
        Launches; 0 where nothing runs on the device.
    synchronisations : int
        Times that the host waits for the device to learn a size or a condition.
    element_bits : int
        Of the output; half precision doubles the peak.
    """

    category: WorkCategory
    operations: float
    bytes_moved: int
    kernels: int = 1
    synchronisations: int = 0
    element_bits: int = 32


_ALIASES = {
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Shape", "Size", "Dropout",
    "Constant", "OptionalGetElement", "OptionalHasElement", "Optional",
}  # fmt: skip
_POINTER_BYTES = 8
_CPU_ALIASES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"}
_GATHERS = {
    "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Scatter", "OneHot",
    "Compress", "RoiAlign", "Resize", "Upsample", "GridSample",
}  # fmt: skip
_PICKS = {"Gather": 1, "GatherElements": 1, "GatherND": 1}
"""Operators that read only what they are pointed to, and where their pointers are."""
_HOST_WAITS = {"NonZero": 1, "NonMaxSuppression": 1, "Compress": 1, "Unique": 1}
_KERNELS = {
    "NonMaxSuppression": 4, "NonZero": 3, "TopK": 3, "Unique": 5, "CumSum": 2, "Compress": 3,
    "ArgMax": 2, "ArgMin": 2, "InstanceNormalization": 2, "Einsum": 3,
}  # fmt: skip
_PER_ELEMENT = {
    "Exp": 8, "Log": 8, "Sigmoid": 10, "Tanh": 10, "Erf": 12, "Gelu": 16, "Softmax": 12,
    "LogSoftmax": 12, "Pow": 10, "Sqrt": 4, "Div": 4, "LayerNormalization": 8,
    "BatchNormalization": 4, "LRN": 12, "HardSwish": 4, "Resize": 8,
}  # fmt: skip


def is_alias(task: GraphTask) -> bool:
    """Whether ONNX Runtime's CPU kernel only gives its input another shape, within a session."""
    return task.node.op_type in _CPU_ALIASES and task.node.domain in ("", "ai.onnx")


def work_of(graph: Graph, task: GraphTask, seen: Mapping[str, Observed]) -> Work:
    """Work of a task whose values the calibration run saw.

    Control flow counts its bodies' nodes once: trip counts are not known here.
    """
    inputs = [_shape(graph, name, seen) for name in task.node.input]
    outputs = [seen[n].shape or () for n in task.node.output if n in seen]
    made = sum(math.prod(shape) for shape in outputs)
    moved = task.weight_bytes + sum(_bytes(graph, i, seen) for i in (*task.inputs, *task.outputs))
    first = next((seen[n] for n in task.node.output if n in seen), None)
    bits = 8 * stored_bytes(first.elem_type, (1,)) if first is not None else 32
    work = Work(WorkCategory.STREAM, 0.0, moved, element_bits=bits)
    kind = task.node.op_type
    if task.is_control_flow:
        return _control_flow(task, work)
    if kind in _ALIASES:
        return replace(work, category=WorkCategory.ALIAS, bytes_moved=0, kernels=0)
    if kind in _COUNTS:
        category, count = _COUNTS[kind]
        return replace(work, category=category, operations=count(task.node, inputs, outputs))
    if kind in _PICKS:
        pointers = math.prod(inputs[_PICKS[kind]]) * _POINTER_BYTES
        picked = sum(seen[n].size_bytes for n in task.node.output if n in seen)
        least = min(moved, 2 * picked + pointers)
        return replace(
            work, category=WorkCategory.GATHER, operations=float(made), bytes_moved=least
        )
    kernels = _recurrent_kernels(kind, inputs) or _KERNELS.get(kind, 1)
    if kind == "Concat" and len(inputs) > 32:
        kernels = -(-len(inputs) // 32)
    if kind == "TopK" and made == 0:
        kernels = 1
    return replace(
        work,
        category=WorkCategory.GATHER if kind in _GATHERS else WorkCategory.STREAM,
        operations=float(_PER_ELEMENT.get(kind, 1)) * _elements(kind, inputs, made),
        kernels=kernels,
        synchronisations=_HOST_WAITS.get(kind, 0),
    )


def _elements(kind: str, inputs: list[Shape], made: int) -> int:
    """Reductions and searches work through their input, all others make their output."""
    if kind == "RoiAlign":
        return 16 * made  # four samples of four neighbours
    return max(made, max((math.prod(shape) for shape in inputs), default=0))


def _control_flow(task: GraphTask, work: Work) -> Work:
    nodes = sum(len(body.node) for body in sub_graphs(task.node))
    return replace(work, kernels=nodes, synchronisations=1)


def _recurrent_kernels(kind: str, inputs: list[Shape]) -> int:
    if kind in ("LSTM", "GRU", "RNN") and inputs and inputs[0]:
        return 2 * inputs[0][0]
    return 0


def _shape(graph: Graph, name: str, seen: Mapping[str, Observed]) -> Shape:
    if name in seen:
        return seen[name].shape or ()
    held = graph.initializers.get(name)
    return () if held is None else tuple(held.dims)


def _bytes(graph: Graph, index: int, seen: Mapping[str, Observed]) -> int:
    value = seen.get(graph.tensors[index].name)
    return 0 if value is None else value.size_bytes


def _convolution(node: onnx.NodeProto, inputs: list[Shape], outputs: list[Shape]) -> float:
    """Every output element sums over the filter: channels within a group times its window."""
    return 2.0 * math.prod(outputs[0]) * math.prod(inputs[1][1:])


def _transposed(node: onnx.NodeProto, inputs: list[Shape], outputs: list[Shape]) -> float:
    """Every input element is spread over the filter: channels out of a group times its window."""
    return 2.0 * math.prod(inputs[0]) * math.prod(inputs[1][1:])


def _matmul(node: onnx.NodeProto, inputs: list[Shape], outputs: list[Shape]) -> float:
    return 2.0 * math.prod(outputs[0]) * (inputs[0][-1] if inputs[0] else 1)


def _gemm(node: onnx.NodeProto, inputs: list[Shape], outputs: list[Shape]) -> float:
    turned = any(a.name == "transA" and a.i for a in node.attribute)
    return 2.0 * math.prod(outputs[0]) * inputs[0][0 if turned else 1]


def _pool(node: onnx.NodeProto, inputs: list[Shape], outputs: list[Shape]) -> float:
    window = next((math.prod(a.ints) for a in node.attribute if a.name == "kernel_shape"), 1)
    return float(math.prod(outputs[0]) * window)


_Count = Callable[[onnx.NodeProto, list[Shape], list[Shape]], float]

_COUNTS: dict[str, tuple[WorkCategory, _Count]] = {
    "Conv": (WorkCategory.CONVOLUTION, _convolution),
    "ConvInteger": (WorkCategory.CONVOLUTION, _convolution),
    "QLinearConv": (WorkCategory.CONVOLUTION, lambda n, i, o: _convolution(n, [i[0], i[3]], o)),
    "ConvTranspose": (WorkCategory.CONVOLUTION, _transposed),
    "MatMul": (WorkCategory.MATMUL, _matmul),
    "MatMulInteger": (WorkCategory.MATMUL, _matmul),
    "QLinearMatMul": (WorkCategory.MATMUL, _matmul),
    "Gemm": (WorkCategory.MATMUL, _gemm),
    "MaxPool": (WorkCategory.STREAM, _pool),
    "AveragePool": (WorkCategory.STREAM, _pool),
}
