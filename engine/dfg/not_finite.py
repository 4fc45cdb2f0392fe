"""Tasks that make NaN and infinities out of finite numbers, and what of them gets to whom.

Numbers that overflow are left out: every sum may, and whether it does the numbers alone say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.operands import attribute_of, constant_of, data_of
from surplus.engine.dfg.value_bounds import Bounds, bounds_of

SMALLEST = 2.0**-126
"""What is nearer to zero may count as zero: normal numbers of float32 begin there."""

_ALWAYS = ("LpNormalization", "MeanVarianceNormalization", "ReduceLogSum", "Atanh")
"""Which divide by what may be 0, or take its logarithm, unless numbers say otherwise."""

_NEEDS: Mapping[str, Bounds] = {
    "Sqrt": (0.0, math.inf),
    "Acos": (-1.0, 1.0),
    "Asin": (-1.0, 1.0),
    "Acosh": (1.0, math.inf),
    "Log": (SMALLEST, math.inf),
}
"""Bounds between which the answer is finite."""

_WITH_EPSILON = (
    *("LayerNormalization", "InstanceNormalization", "GroupNormalization"),
    *("RMSNormalization", "BatchNormalization"),
)

_MOST_LOOKED_AT = 1 << 28


def may_make(graph: Graph, task: GraphTask, known: Mapping[str, Bounds]) -> bool:
    """Whether a task may make what is not finite of finite inputs, or reads a constant that is not.

    Parameters
    ----------
    known : mapping of str to (float, float)
        ``value_bounds`` of the graph.
    """
    operator, names = task.op_type, data_of(task)
    if any(not _is_finite(graph, name) for name in task.initializers):
        return True
    if operator in _NEEDS:
        (low, high), (least, most) = bounds_of(graph, known, names[0]), _NEEDS[operator]
        return not least <= low <= high <= most
    if operator in ("Div", "Mod", "Reciprocal"):
        low, high = bounds_of(graph, known, names[-1])
        return low < SMALLEST and high > -SMALLEST
    if operator == "Pow":
        return not _is_finite_power(*(bounds_of(graph, known, name) for name in names))
    if operator in _WITH_EPSILON:
        return attribute_of(task, "epsilon", 1e-5) <= 0 or not _is_variance(graph, task)
    return operator in _ALWAYS


def _is_finite(graph: Graph, name: str) -> bool:
    numbers = constant_of(graph, name, _MOST_LOOKED_AT)
    if numbers is None or numbers.dtype.kind != "f":
        return numbers is not None or name in graph.sparse_initializers
    return bool(np.isfinite(numbers).all())


def _is_finite_power(base: Bounds, exponent: Bounds) -> bool:
    low, high = exponent
    if base[0] >= SMALLEST:
        return True
    if base[0] >= 0 <= low:
        return True
    return low == high and low >= 0 and float(low).is_integer()


def _is_variance(graph: Graph, task: GraphTask) -> bool:
    """Whether a batch normalisation's variance is a constant that is not negative."""
    if task.op_type != "BatchNormalization":
        return True
    numbers = constant_of(graph, task.node.input[4], _MOST_LOOKED_AT)
    return numbers is not None and bool((numbers >= 0).all())
