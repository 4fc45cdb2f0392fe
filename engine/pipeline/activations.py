"""How many bytes of tensors a plan holds at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.activations import activations
from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.planned_graph import planned_graph


def planned_activations(
    graph: Graph, plan: Plan, inputs: Mapping[str, Any] | None = None
) -> Activations:
    """Walk the plan's tasks in their planned order, its segments one after another.

    Parameters
    ----------
    inputs : mapping of str to array, optional
        One query's inputs: named dimensions have their sizes.
    """
    order = [t for s in sorted(plan.segments, key=lambda s: s.rank) for t in s.tasks]
    named = _named_sizes(graph, inputs or {})
    return activations(planned_graph(graph, plan).content, order, named)


def _named_sizes(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for tensor in graph.summary.inputs:
        shape = getattr(inputs.get(tensor.name), "shape", ())
        if tensor.shape is not None and len(shape) == len(tensor.shape):
            pairs = zip(tensor.shape, shape, strict=True)
            found |= {dim: int(size) for dim, size in pairs if isinstance(dim, str)}
    return found
