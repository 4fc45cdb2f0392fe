"""Which tasks may be part of a captured graph of GPU operators, and why others may not.

A captured graph is launched at once and replays the same operators on the same sizes: nothing in
it may depend on the data, and the host may not take part.
"""

from __future__ import annotations

from collections.abc import Iterable

from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph

_DATA_DEPENDENT = frozenset({"NonZero", "NonMaxSuppression", "Compress", "Unique"})
"""Their sizes are known when they have run; the host waits to learn them."""


def refusal(graph: Graph, task: GraphTask) -> str:
    """Why a task cannot be captured; empty if it can."""
    if task.is_control_flow:
        return "control flow"
    if task.op_type in _DATA_DEPENDENT:
        return "data-dependent"
    if any(graph.tensors[index].has_open_size for index in (*task.inputs, *task.outputs)):
        return "open shapes"
    return ""


def refusal_of(graph: Graph, tasks: Iterable[int]) -> str:
    """Why a segment cannot be captured: the first task that cannot; empty if it can."""
    for index in tasks:
        reason = refusal(graph, graph.tasks[index])
        if reason:
            return f"{reason} ({graph.tasks[index].op_type} {graph.tasks[index].name!r})"
    return ""
