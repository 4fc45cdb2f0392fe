"""Several queries as one: their inputs stacked along the first axis, their answers cut apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Graph, ValueKind

Arrays = Mapping[str, Any]
"""By name: numpy arrays."""


def is_stackable(graph: Graph) -> bool:
    """Whether the model's shapes allow it: the first axis of every input and output is open.

    The inputs must name it alike. Whether rows are independent is not to be seen from shapes.
    """
    inputs = [graph.tensors[i] for i in graph.inputs]
    outputs = [graph.tensors[i] for i in graph.outputs]
    tensors = [*inputs, *outputs]
    if graph.default_inputs or graph.constant_outputs or not inputs:
        return False
    if any(t.kind is not ValueKind.TENSOR or not t.shape for t in tensors):
        return False
    first = [t.shape[0] for t in tensors if t.shape]
    names = {dim for dim in first[: len(inputs)] if isinstance(dim, str)}
    return len(names) <= 1 and not any(isinstance(dim, int) for dim in first)


def stacked(queries: Sequence[Arrays]) -> Arrays:
    """The inputs of queries as those of one."""
    if len(queries) == 1:
        return queries[0]
    return {name: np.concatenate([query[name] for query in queries]) for name in queries[0]}


def apart(answer: Arrays, items: Sequence[int]) -> list[dict[str, Any]]:
    """The answer of stacked queries as one each, of so many rows; views of the same memory.

    Raises
    ------
    ValueError
        If an output has another number of rows.
    """
    if len(items) == 1:
        return [dict(answer)]
    for name, array in answer.items():
        if len(array) != sum(items):
            text = f"{len(array)} rows for {sum(items)} items"
            raise ValueError(f"output {name!r} has {text}: this model cannot be batched")
    ends = np.cumsum(items)
    return [
        {name: array[end - count : end] for name, array in answer.items()}
        for end, count in zip(ends.tolist(), items, strict=True)
    ]


def repeated(inputs: Arrays, items: int) -> Arrays:
    """Inputs of so many rows, made of those that there are."""
    return {
        name: np.ascontiguousarray(np.resize(array, (items, *np.shape(array)[1:])))
        for name, array in inputs.items()
    }
