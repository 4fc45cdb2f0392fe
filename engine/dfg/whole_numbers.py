"""Tasks that compute with whole numbers, which libraries of kernels do otherwise than ONNX says.

They compute them in fewer bits, in floating point, or saturate; what moves them is right.
"""

from __future__ import annotations

from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.operands import attribute_of, constant_of, data_of, element_type
from surplus.engine.element_type import ElementType

_SMALL = frozenset({ElementType.INT8, ElementType.UINT8, ElementType.INT16, ElementType.UINT16})
"""Each number of these is one of float32, and most are one of float16."""

WHOLE = _SMALL | {ElementType.INT32, ElementType.INT64, ElementType.UINT32, ElementType.UINT64}
"""Types of whole numbers; truth values are none."""

_FLOATS = (ElementType.FLOAT, ElementType.FLOAT16)

MOVES = frozenset(
    {
        *("Compress", "Concat", "ConstantOfShape", "DepthToSpace", "Dropout", "Expand", "Flatten"),
        *("Gather", "GatherElements", "GatherND", "Identity", "OneHot", "Pad", "Reshape"),
        *("ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape", "Size", "Slice"),
        *("SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where"),
    }
)
"""Operators whose outputs hold elements of their inputs, or sizes."""

_STEPS = ("QuantizeLinear", "DequantizeLinear")
"""Between them whole numbers stand for floating-point ones."""

_MOST_CHECKED = 1 << 20
_BOUND = 1 << 31


def computes_whole_numbers(graph: Graph, task: GraphTask) -> bool:
    """Whether a task does arithmetic on whole numbers, compares or reduces them.

    Moving constants beyond 32 bits counts, too: a library has none.
    """
    types = {name: element_type(graph, name) for name in data_of(task)}
    whole = [name for name, kind in types.items() if kind in WHOLE]
    if not whole or task.op_type in _STEPS:
        return False
    if task.op_type == "Cast":
        return types[whole[0]] not in _SMALL or attribute_of(task, "to", 0) not in _FLOATS
    if task.op_type not in MOVES or attribute_of(task, "reduction", b"none") != b"none":
        return True
    return any(not _is_small(graph, name) for name in whole)


def _is_small(graph: Graph, name: str) -> bool:
    """Whether what is moved is in 32 bits: a constant by its numbers; a query is looked at."""
    if name in graph.tensor_index:
        return True
    numbers = constant_of(graph, name, _MOST_CHECKED)
    if numbers is None:
        return False
    return not numbers.size or (int(numbers.min()) >= -_BOUND and int(numbers.max()) < _BOUND)
