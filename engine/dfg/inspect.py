"""What is in a model: size, width, operators, bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import onnx

from surplus.engine.dfg.antichain import largest_antichain, widest_level
from surplus.engine.dfg.constants import constant_bytes, stored_bytes, tensors_of_model
from surplus.engine.dfg.graph import Graph, GraphTensor
from surplus.engine.shapes import dim_text

EXACT_ANTICHAIN_TASKS = 4000
"""Up to here the largest antichain is computed, beyond it the widest level stands in."""


@dataclass(frozen=True)
class Inspection:
    """Facts about a graph.

    Parameters
    ----------
    edges : int
        Distinct pairs of tasks of which one waits for the other.
    widest_level : int
        Most tasks of one longest-path depth.
    antichain : int
        Most tasks that may run at once; a lower bound unless ``antichain_exact``.
    max_in_degree, max_out_degree : int
        Distinct tasks before and after one task.
    operators : dict of str to int
        How often each operator type occurs, most frequent first.
    dynamic_tensors : int
        Tensors of which some dimension, or even the rank, is not known before a run.
    non_tensor_values : int
        Sequences, optionals and maps.
    parameter_bytes : int
        All constants.
    activation_bytes : int
        All tensors of known shape that tasks make, each counted once.
    inputs, outputs : dict of str to str
        Name to type and shape.
    """

    name: str
    tasks: int
    edges: int
    widest_level: int
    antichain: int
    antichain_exact: bool
    max_in_degree: int
    max_out_degree: int
    operators: dict[str, int]
    control_flow: int
    tensors: int
    dynamic_tensors: int
    non_tensor_values: int
    opsets: dict[str, int]
    parameter_bytes: int
    activation_bytes: int
    inputs: dict[str, str]
    outputs: dict[str, str]


def inspect(graph: Graph) -> Inspection:
    """Count what there is."""
    before, after = graph.predecessors, graph.successors
    exact = len(graph.tasks) <= EXACT_ANTICHAIN_TASKS
    level = widest_level(before)
    made = [t for t in graph.tensors if t.producer >= 0]
    return Inspection(
        name=graph.name,
        tasks=len(graph.tasks),
        edges=sum(map(len, before)),
        widest_level=level,
        antichain=largest_antichain(before) if exact else level,
        antichain_exact=exact,
        max_in_degree=max(map(len, before), default=0),
        max_out_degree=max(map(len, after), default=0),
        operators=dict(Counter(task.op_type for task in graph.tasks).most_common()),
        control_flow=sum(task.is_control_flow for task in graph.tasks),
        tensors=len(graph.tensors),
        dynamic_tensors=sum(is_dynamic(t) for t in graph.tensors),
        non_tensor_values=sum(t.kind != "tensor" for t in graph.tensors),
        opsets={i.domain or "ai.onnx": i.version for i in graph.model.opset_import},
        parameter_bytes=sum(constant_bytes(t) for t in tensors_of_model(graph.model)),
        activation_bytes=sum(tensor_bytes(t) or 0 for t in made),
        inputs={graph.tensors[i].name: describe(graph.tensors[i]) for i in graph.inputs},
        outputs={graph.tensors[i].name: describe(graph.tensors[i]) for i in graph.outputs},
    )


def static_shape(tensor: GraphTensor) -> tuple[int, ...] | None:
    """The shape if every dimension of it is known, else None."""
    if tensor.shape is None:
        return None
    fixed = tuple(dim for dim in tensor.shape if isinstance(dim, int))
    return fixed if len(fixed) == len(tensor.shape) else None


def is_dynamic(tensor: GraphTensor) -> bool:
    """Whether a tensor's shape is not known before a run."""
    return tensor.kind == "tensor" and static_shape(tensor) is None


def tensor_bytes(tensor: GraphTensor) -> int | None:
    """Bytes of a tensor of known shape, else None."""
    shape = static_shape(tensor)
    return None if shape is None else stored_bytes(tensor.elem_type, shape)


def describe(tensor: GraphTensor) -> str:
    """Type and shape in words, for example ``float32[N, 3, 224, 224]``."""
    element = _element_name(tensor.elem_type)
    if tensor.kind != "tensor":
        return f"{tensor.kind}({element})"
    if tensor.shape is None:
        return f"{element}[...]"
    return f"{element}[{', '.join(map(dim_text, tensor.shape))}]"


def _element_name(elem_type: int) -> str:
    if elem_type == onnx.TensorProto.STRING:
        return "string"
    if elem_type == onnx.TensorProto.UNDEFINED:
        return "unknown"
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(elem_type).name)
    except KeyError:
        return f"type {elem_type}"
