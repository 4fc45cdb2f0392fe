"""Bounds of a graph's values, as far as its operators say: a square is not negative.

They hold for queries of finite numbers, and tell whether an operator can make what is not finite:
the root of a variance, a division by one plus something that is not negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.operands import attribute_of, constant_of, data_of, element_type
from surplus.engine.dfg.whole_numbers import MOVES
from surplus.engine.element_type import ElementType

Bounds = tuple[float, float]

ANY: Bounds = (-math.inf, math.inf)
_MOST_READ = 4096
"""Elements of a constant: factors and exponents are few, weights say nothing."""

_OF_TYPE: dict[int, Bounds] = {ElementType.BOOL: (0, 1), ElementType.UINT8: (0, 255)}

_WITHIN: dict[str, Bounds] = {
    **dict.fromkeys(("Sigmoid", "HardSigmoid", "Softmax", "Hardmax"), (0.0, 1.0)),
    **dict.fromkeys(("Tanh", "Erf", "Sin", "Cos", "Softsign"), (-1.0, 1.0)),
    **dict.fromkeys(("Softplus", "ReduceSumSquare", "ReduceL1", "ReduceL2"), (0.0, math.inf)),
}
_KEEPS = ("ReduceMean", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "GlobalAveragePool")


def value_bounds(graph: Graph) -> Mapping[str, Bounds]:
    """Of each tensor of floating-point numbers that something is known of, by name."""
    found: dict[str, Bounds] = {}
    for task in graph.tasks:
        bounds = _of_task(graph, task, found)
        if bounds != ANY:
            found.update({name: bounds for name in task.node.output[:1] if name})
    return found


def bounds_of(graph: Graph, known: Mapping[str, Bounds], name: str) -> Bounds:
    """Of a tensor or a constant."""
    if name in known:
        return known[name]
    numbers = constant_of(graph, name, _MOST_READ)
    if numbers is None or numbers.size == 0 or numbers.dtype.kind not in "fiub":
        return _OF_TYPE.get(element_type(graph, name), ANY)
    low, high = float(numbers.min()), float(numbers.max())
    return ANY if math.isnan(low) or math.isnan(high) else (low, high)


def _of_task(graph: Graph, task: GraphTask, known: Mapping[str, Bounds]) -> Bounds:
    operator, names = task.op_type, data_of(task)
    if operator in _WITHIN:
        return _WITHIN[operator]
    if operator == "ReduceSum" and _is_softmax_sum(graph, task):
        return 1.0, math.inf
    if operator == "Mul" and len(names) == 2 and names[0] == names[1]:
        return 0.0, math.inf
    operands = [bounds_of(graph, known, name) for name in names]
    if operator in MOVES:
        return _union([*operands, (0.0, 0.0)] if operator == "Pad" else operands)
    if operator in _KEEPS or operator == "Cast":
        return operands[0]
    if operator == "Clip" and len(task.node.input) > 1:
        return _clipped(
            operands[0], [bounds_of(graph, known, n) if n else ANY for n in task.node.input[1:]]
        )
    rule = _RULES.get(operator)
    return rule(operands) if rule is not None and operands else ANY


def _union(operands: list[Bounds]) -> Bounds:
    if not operands:
        return ANY
    return min(low for low, _ in operands), max(high for _, high in operands)


def _clipped(value: Bounds, limits: list[Bounds]) -> Bounds:
    low = max(value[0], limits[0][0])
    high = min(value[1], limits[1][1]) if len(limits) > 1 else value[1]
    return (low, high) if low <= high else ANY


def _product(operands: list[Bounds]) -> Bounds:
    (a, b), (c, d) = operands
    corners = [x * y for x in (a, b) for y in (c, d)]
    return ANY if any(map(math.isnan, corners)) else (min(corners), max(corners))


def _quotient(operands: list[Bounds]) -> Bounds:
    low, high = operands[1]
    if low <= 0 <= high:
        return ANY
    return _product([operands[0], (1 / high, 1 / low)])


def _power(operands: list[Bounds]) -> Bounds:
    (base, _), (low, high) = operands
    is_even = low == high and low % 2 == 0
    return (0.0, math.inf) if is_even or base >= 0 else ANY


def _exponential(operands: list[Bounds]) -> Bounds:
    low, high = operands[0]
    return (math.exp(low) if low > -80 else 0.0), (math.exp(high) if high < 80 else math.inf)


def _absolute(operands: list[Bounds]) -> Bounds:
    low, high = operands[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _root(operands: list[Bounds]) -> Bounds:
    low, high = operands[0]
    return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))


def _sum_along(operands: list[Bounds]) -> Bounds:
    low, high = operands[0]
    return (low if low >= 0 else -math.inf), (high if high <= 0 else math.inf)


_RULES: dict[str, Callable[[list[Bounds]], Bounds]] = {
    "Abs": _absolute,
    "Add": lambda o: (o[0][0] + o[1][0], o[0][1] + o[1][1]),
    "Div": _quotient,
    "Exp": _exponential,
    "Max": lambda o: (max(low for low, _ in o), max(high for _, high in o)),
    "Min": lambda o: (min(low for low, _ in o), min(high for _, high in o)),
    "Mul": _product,
    "Neg": lambda o: (-o[0][1], -o[0][0]),
    "Pow": _power,
    "ReduceSum": _sum_along,
    "Relu": lambda o: (max(o[0][0], 0.0), max(o[0][1], 0.0)),
    "Sqrt": _root,
    "Sub": lambda o: (o[0][0] - o[1][1], o[0][1] - o[1][0]),
}


def _is_softmax_sum(graph: Graph, task: GraphTask) -> bool:
    """Whether it adds ``exp(x - max(x))`` along the axes of that maximum: one of these is 1."""
    exponential = _producer(graph, task.node.input[0], "Exp")
    shifted = exponential and _producer(graph, exponential.node.input[0], "Sub")
    maximum = shifted and _producer(graph, shifted.node.input[1], "ReduceMax")
    return bool(
        maximum
        and shifted
        and maximum.node.input[0] == shifted.node.input[0]
        and _axes(graph, maximum) is not None
        and _axes(graph, maximum) == _axes(graph, task)
    )


def _producer(graph: Graph, name: str, operator: str) -> GraphTask | None:
    index = graph.tensor_index.get(name)
    producer = -1 if index is None else graph.tensors[index].producer
    found = graph.tasks[producer] if producer >= 0 else None
    return found if found is not None and found.op_type == operator else None


def _axes(graph: Graph, task: GraphTask) -> list[int] | None:
    """As the node says them; None where a query does, or nothing."""
    if len(task.node.input) > 1 and task.node.input[1]:
        constant = constant_of(graph, task.node.input[1], _MOST_READ)
        return None if constant is None else [int(axis) for axis in np.ravel(constant)]
    axes = attribute_of(task, "axes", None)
    return None if axes is None else list(axes)
