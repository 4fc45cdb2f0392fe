"""What a library of kernels may be asked to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.element_type import ElementType
from surplus.engine.kernels.registry import LIBRARIES

TYPES = frozenset(
    {
        ElementType.FLOAT,
        ElementType.FLOAT16,
        ElementType.UINT8,
        ElementType.INT8,
        ElementType.INT16,
        ElementType.INT32,
        ElementType.INT64,
        ElementType.BOOL,
    }
)
"""Of tensors that it takes or delivers."""


def may_run(graph: Graph, library: str, tasks: Iterable[int]) -> bool:
    """Whether its answers can be those of ONNX Runtime, as far as operators and types say."""
    refuses = LIBRARIES[library].refuses_op
    rows = [graph.tasks[i] for i in tasks]
    touched = {t for task in rows for t in (*task.inputs, *task.outputs)}
    return not any(refuses(task.op_type) or task.is_control_flow for task in rows) and not any(
        graph.tensors[t].elem_type == ElementType.DOUBLE for t in touched
    )  # which is computed in float32 there


def may_take(value: Any) -> bool:
    """Whether a core's value is a tensor of a type that is taken, with elements."""
    return value.kind == "tensor" and value.elem_type in TYPES and value.nbytes > 0
