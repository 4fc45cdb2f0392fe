"""The bytes of tensors that are held at once, by the lives of the tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.constants import stored_bytes
from surplus.engine.dfg.content import Content
from surplus.engine.dfg.graph_tensor import GraphTensor


def activations(
    content: Content, order: Sequence[int], named: Mapping[str, int] | None = None
) -> Activations:
    """Walk the tasks in an order that holds all of them.

    Parameters
    ----------
    named : mapping of str to int, optional
        Sizes of named dimensions.
    """
    place = {task: index for index, task in enumerate(order)}
    sizes = [_bytes(tensor, named or {}) for tensor in content.tensors]
    ends: list[list[int]] = [[] for _ in order]
    for index, tensor in enumerate(content.tensors):
        readers = [place[c] for c in tensor.consumers if c in place]
        if tensor.is_output or not order:
            continue
        last = max(readers, default=place.get(tensor.producer, 0))
        ends[last].append(index)
    alive = sum(sizes[i] or 0 for i in content.inputs)
    peak = alive
    for index, task in enumerate(order):
        alive += sum(sizes[t] or 0 for t in content.tasks[task].outputs)
        peak = max(peak, alive)
        alive -= sum(sizes[t] or 0 for t in ends[index])
    return Activations(peak, sum(size is None for size in sizes))


def _bytes(tensor: GraphTensor, named: Mapping[str, int]) -> int | None:
    """None where shape or type are not known."""
    if tensor.shape is None or not tensor.elem_type:
        return None
    dims = [named.get(dim, dim) if isinstance(dim, str) else dim for dim in tensor.shape]
    sizes = [dim for dim in dims if isinstance(dim, int) and dim >= 0]
    return stored_bytes(tensor.elem_type, tuple(sizes)) if len(sizes) == len(dims) else None
