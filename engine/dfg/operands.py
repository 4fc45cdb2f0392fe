"""What a task reads, by position: element types, constants, and which of it says sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from surplus.engine.dfg.constants import array_of
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph

PARAMETERS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Reshape", "Expand", "Tile", "Squeeze", "Unsqueeze", "Split"), (1,)),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND", "ReverseSequence", "Trilu"), (1,)),
    **dict.fromkeys(
        ("ScatterND", "ScatterElements", "Scatter", "TopK", "CumSum", "Compress"), (1,)
    ),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (4,)),
    "ConstantOfShape": (0,),
    "Dropout": (1, 2),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (0, 1),
    "Pad": (1, 3),
    "Resize": (1, 2, 3),
    "RoiAlign": (2,),
    "Slice": (1, 2, 3, 4),
    "Upsample": (1,),
}
"""Positions of inputs that say sizes, axes or places of elements rather than are computed with."""


def parameters_of(operator: str) -> tuple[int, ...]:
    """Those of an operator."""
    return (1,) if operator.startswith("Reduce") else PARAMETERS.get(operator, ())


def data_of(task: GraphTask) -> list[str]:
    """Names of the inputs that a task computes with or moves."""
    parameters = parameters_of(task.op_type)
    return [name for i, name in enumerate(task.node.input) if name and i not in parameters]


def is_constant(graph: Graph, name: str) -> bool:
    """Whether no query can say a value; an initializer that is an input, too, is none."""
    return name not in graph.tensor_index


def open_parameters(graph: Graph, task: GraphTask) -> list[str]:
    """Names of the parameters that are not constants."""
    names = task.node.input
    return [
        names[i]
        for i in parameters_of(task.op_type)
        if i < len(names) and names[i] and not is_constant(graph, names[i])
    ]


def element_type(graph: Graph, name: str) -> int:
    """Of a tensor or constant, ONNX's number; 0 where it is not known."""
    index = graph.tensor_index.get(name)
    if index is not None:
        return graph.tensors[index].elem_type
    constant = graph.initializers.get(name)
    if constant is not None:
        return int(constant.data_type)
    sparse = graph.sparse_initializers.get(name)
    return 0 if sparse is None else int(sparse.values.data_type)


def constant_of(graph: Graph, name: str, most: int) -> np.ndarray[Any, Any] | None:
    """A constant of at most so many elements; None of others, and of what is none."""
    constant = graph.initializers.get(name) if is_constant(graph, name) else None
    if constant is None or np.prod(constant.dims, initial=1.0) > most:
        return None
    return array_of(constant, graph.folder)


def attribute_of(task: GraphTask, name: str, default: Any) -> Any:
    """An attribute of a number, a list of numbers or text (as bytes)."""
    from onnx import helper

    found = next((a for a in task.node.attribute if a.name == name), None)
    return default if found is None else helper.get_attribute_value(found)
