"""Sizes of inputs that a model leaves to the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.graph_tensor import is_open
from surplus.engine.runtime.inputs import input_specs


def has_open_sizes(graph: Graph) -> bool:
    """Whether any input's shape is up to the query."""
    return any(tensor.has_open_size for tensor in graph.summary.inputs)


def open_sizes(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Shapes, or numbers of items, of the given inputs that the model leaves open."""
    return {
        spec.name: _size(inputs[spec.name])
        for spec in input_specs(graph)
        if spec.name in inputs and is_open(spec.shape)
    }


def _size(value: Any) -> Any:
    if hasattr(value, "shape"):
        return [int(d) for d in value.shape]
    return len(value) if isinstance(value, list | tuple) else None
