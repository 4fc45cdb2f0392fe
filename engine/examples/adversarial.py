"""Inputs on which plans go apart that agree on ordinary ones: made of example inputs.

Large, negative, equal and zero numbers, whole ones at bounds, NaN and infinities, other sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from surplus.engine.adversarial_values import numbers_of, with_special_numbers
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.operands import attribute_of, constant_of, parameters_of
from surplus.engine.dfg.whole_numbers import MOVES, WHOLE
from surplus.engine.profiling.calibrate import dim_key

_LARGE = 64.0
_WHOLE = (2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 0, -1, 7)
"""Beyond what float32 tells apart; of fewer bits what is left of them."""

_ARITHMETIC = frozenset(
    {
        *(
            "Abs",
            "Add",
            "And",
            "BitwiseAnd",
            "BitwiseNot",
            "BitwiseOr",
            "BitwiseXor",
            "Cast",
            "Clip",
        ),
        *("CumSum", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min"),
        *("Mul", "Neg", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Sign"),
        *("Sub", "Sum"),
    }
)
"""What takes any whole number: not as a size, an axis, a divisor."""


def adversarial_inputs(graph: Graph, inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Further inputs, those that differ from the given ones; the model need not take them.

    First edges, then numbers that are not finite, then other sizes of all open dimensions.

    Parameters
    ----------
    inputs : mapping
        Example inputs, by name.
    """
    free = free_whole_inputs(graph)
    edges = {name: _edges(value, name in free) for name, value in inputs.items()}
    special = {name: _special(value) for name, value in inputs.items()}
    for made in (edges, special, other_sizes(graph, inputs)):
        if any(made[name] is not inputs[name] for name in made):
            yield made


def _edges(value: Any, is_free: bool) -> Any:
    if not isinstance(value, np.ndarray) or value.size == 0:
        return value
    if value.dtype.kind == "f":
        return _parts(value)
    if value.dtype.kind in "iu" and is_free:
        bounds = np.iinfo(value.dtype)
        numbers = [min(max(n, bounds.min), bounds.max) for n in _WHOLE]
        return numbers_of(numbers, value.shape, value.dtype)
    return value


def _parts(value: Any) -> Any:
    """A quarter each of its numbers large, negative, zero and equal."""
    found = value.copy().reshape(-1)
    quarter = -(-found.size // 4)
    with np.errstate(over="ignore"):
        large = found[:quarter] * value.dtype.type(_LARGE)
    found[:quarter] = np.where(np.isfinite(large), large, found[:quarter])
    found[quarter : 2 * quarter] = -np.abs(found[quarter : 2 * quarter])
    found[2 * quarter : 3 * quarter] = 0
    found[3 * quarter :] = found[-1]
    return found.reshape(value.shape)


def _special(value: Any) -> Any:
    return with_special_numbers(value) if isinstance(value, np.ndarray) else value


def other_sizes(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with one entry less along each open dimension, two where there was one."""
    by_name = {tensor.name: tensor for tensor in graph.summary.inputs}
    wanted: dict[str, int] = {}
    found = dict(inputs)
    for name, value in inputs.items():
        tensor = by_name.get(name)
        if tensor is None or not isinstance(value, np.ndarray) or 0 in value.shape:
            continue
        for axis, dim in enumerate(tensor.shape or ()):
            if isinstance(dim, int) and dim >= 0:
                continue
            extent = found[name].shape[axis]
            size = wanted.setdefault(dim_key(tensor, axis), 2 if extent == 1 else extent - 1)
            found[name] = np.take(found[name], np.arange(size) % extent, axis=axis)
    return found


def free_whole_inputs(graph: Graph) -> frozenset[str]:
    """Inputs of whole numbers that may be any: what is computed of them is no size or divisor.

    Indices may be among them: what they do not fit, the model refuses.
    """
    whole = [tensor.name for tensor in graph.summary.inputs if tensor.elem_type in WHOLE]
    return frozenset(name for name in whole if _is_free(graph, name))


def _is_free(graph: Graph, name: str) -> bool:
    index = graph.tensor_index.get(name)
    if index is None:
        return False
    open_tensors, seen = [index], {index}
    while open_tensors:
        tensor = graph.tensors[open_tensors.pop()]
        for consumer in tensor.consumers:
            task = graph.tasks[consumer]
            if not _takes_any(graph, task, tensor.name):
                return False
            made = [t for t in task.outputs if graph.tensors[t].elem_type in WHOLE]
            open_tensors += [t for t in made if t not in seen]
            seen.update(made)
    return True


def _takes_any(graph: Graph, task: GraphTask, name: str) -> bool:
    operator, read = task.op_type, list(task.node.input)
    places = [i for i, other in enumerate(read) if other == name]
    if operator in ("Gather", "GatherElements", "GatherND"):
        return True  # an index that is not there is refused
    if any(i in parameters_of(operator) for i in places):
        return False
    if operator in ("Div", "Mod"):
        divisor = constant_of(graph, read[1], 4096) if places == [0] else None
        is_plain = attribute_of(task, "fmod", 0) == 0
        return divisor is not None and is_plain and bool((divisor > 0).all())
    return operator in _ARITHMETIC or operator in MOVES
