"""The tasks that a library of kernels may be asked to run.

Only what its conformance table says that it computes as ONNX says; and whatever that says, no
arithmetic on whole numbers, nothing that makes NaN or infinities before what loses them, and no
reading or writing at places that a query says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.not_finite import may_make
from surplus.engine.dfg.operands import element_type, open_parameters
from surplus.engine.dfg.whole_numbers import computes_whole_numbers
from surplus.engine.element_type import ElementType
from surplus.engine.kernels.conformance.aspect import Aspect, types_text
from surplus.engine.kernels.conformance.table import ConformanceTable
from surplus.engine.kernels.registry import LIBRARIES, table_of

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

_PLACED = frozenset(
    {
        *("Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND"),
        *("GRU", "LSTM", "RNN", "ReverseSequence", "RoiAlign"),
    }
)
"""Operators whose parameters are places, or how far to read. ONNX Runtime refuses what is out of
range; libraries answer something, or read what is not theirs and crash."""

_NAMES: dict[int, str] = {
    elem_type: {"FLOAT": "float32", "DOUBLE": "float64"}.get(elem_type.name, elem_type.name.lower())
    for elem_type in ElementType
}
"""As numpy has them, and tables."""


def may_run(graph: Graph, library: str, tasks: Iterable[int]) -> bool:
    """Whether its answers are those of ONNX Runtime, as far as operators, types and values say.

    False of a library that has no conformance table here, but for a provider of ONNX Runtime, of
    which none is made.
    """
    described = LIBRARIES[library]
    rows = [graph.tasks[i] for i in sorted(tasks)]
    if any(described.refuses_op(task.op_type) or task.is_control_flow for task in rows):
        return False
    touched = {t for task in rows for t in (*task.inputs, *task.outputs)}
    if any(graph.tensors[t].elem_type == ElementType.DOUBLE for t in touched):
        return False  # which is computed in float32 there
    if any(computes_whole_numbers(graph, task) for task in rows):
        return False
    if described.is_provider:
        return True
    table = table_of(library)
    return (
        table is not None
        and all(_conforms(graph, task, table) for task in rows)
        and _keeps_what_is_not_finite(graph, rows, table)
    )


def _conforms(graph: Graph, task: GraphTask, table: ConformanceTable) -> bool:
    types = _types(graph, task)
    if not open_parameters(graph, task):
        return table.holds(task.op_type, types, Aspect.FINITE)
    if task.op_type in _PLACED:
        return False
    return all(table.holds(task.op_type, types, held) for held in (Aspect.FINITE, Aspect.SIZES))


def _keeps_what_is_not_finite(
    graph: Graph, rows: Iterable[GraphTask], table: ConformanceTable
) -> bool:
    """Whether what tasks make of finite numbers stays what it is, to the segment's end."""
    doubtful: set[int] = set()
    for task in rows:  # in a topological order
        types = _types(graph, task)
        if doubtful.intersection(task.inputs):
            if not table.holds(task.op_type, types, Aspect.SPECIAL):
                return False
            doubtful.update(task.outputs)
        if may_make(graph, task, graph.value_bounds):
            if not table.holds(task.op_type, types, Aspect.MADE):
                return False
            doubtful.update(task.outputs)
    return True


def _types(graph: Graph, task: GraphTask) -> str:
    read = task.node.input[1 if task.op_type == "Where" else 0] if task.node.input else ""
    made = next((name for name in task.node.output if name), "")
    kinds = (element_type(graph, read), element_type(graph, made))
    return types_text(*(_NAMES.get(kind, "") for kind in kinds))


def may_take(value: Any) -> bool:
    """Whether a core's value is a tensor of a type that is taken, with elements."""
    return value.kind == "tensor" and value.elem_type in TYPES and value.nbytes > 0
