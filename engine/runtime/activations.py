"""How many bytes of tensors a plan holds at once, by the lives of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.dfg.constants import stored_bytes
from engine.dfg.graph import Graph, Tensor
from engine.segmentation.plan import Plan
from engine.segmentation.shards import planned_graph


@dataclass(frozen=True)
class Activations:
    """Tensors between operators of one query.

    Parameters
    ----------
    peak_bytes : int
        Most bytes alive at once when segments run one after another in the planned order, each
        tensor from its task to its last reader. Runtimes that compute in place hold less, branches
        that run side by side more.
    unknown : int
        Tensors whose size only a query tells; they count as nothing.
    """

    peak_bytes: int
    unknown: int


def planned_activations(
    graph: Graph, plan: Plan, inputs: Mapping[str, Any] | None = None
) -> Activations:
    """Walk the plan's tasks in their planned order.

    Parameters
    ----------
    inputs : mapping of str to array, optional
        One query's inputs: named dimensions have their sizes.
    """
    graph = planned_graph(graph, plan)
    named = _named_sizes(graph, inputs or {})
    order = [t for s in sorted(plan.segments, key=lambda s: s.rank) for t in s.tasks]
    place = {task: index for index, task in enumerate(order)}
    sizes = [_bytes(tensor, named) for tensor in graph.tensors]
    ends: list[list[int]] = [[] for _ in order]
    for index, tensor in enumerate(graph.tensors):
        readers = [place[c] for c in tensor.consumers if c in place]
        if tensor.is_output or not order:
            continue
        last = max(readers, default=place.get(tensor.producer, 0))
        ends[last].append(index)
    alive = sum(sizes[i] or 0 for i in graph.inputs)
    peak = alive
    for index, task in enumerate(order):
        alive += sum(sizes[t] or 0 for t in graph.tasks[task].outputs)
        peak = max(peak, alive)
        alive -= sum(sizes[t] or 0 for t in ends[index])
    return Activations(peak, sum(size is None for size in sizes))


def _named_sizes(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for tensor in (graph.tensors[i] for i in graph.inputs):
        shape = getattr(inputs.get(tensor.name), "shape", ())
        if tensor.shape is not None and len(shape) == len(tensor.shape):
            pairs = zip(tensor.shape, shape, strict=True)
            found |= {dim: int(size) for dim, size in pairs if isinstance(dim, str)}
    return found


def _bytes(tensor: Tensor, named: Mapping[str, int]) -> int | None:
    """None where shape or type are not known."""
    if tensor.shape is None or not tensor.elem_type:
        return None
    dims = [named.get(dim, dim) if isinstance(dim, str) else dim for dim in tensor.shape]
    sizes = [dim for dim in dims if isinstance(dim, int) and dim >= 0]
    return stored_bytes(tensor.elem_type, tuple(sizes)) if len(sizes) == len(dims) else None
