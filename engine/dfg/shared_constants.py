"""Constants that several tasks read: a memory holds each of them once."""

from __future__ import annotations

from collections import Counter

from surplus.engine.dfg.constants import constant_bytes
from surplus.engine.dfg.graph import Graph


def shared_constants(graph: Graph) -> dict[str, int]:
    """Name and bytes of each constant that more than one task reads, in order of first use."""
    readers = Counter(name for task in graph.tasks for name in dict.fromkeys(task.initializers))
    shared = [name for name, count in readers.items() if count > 1]
    return {name: _bytes(graph, name) for name in shared}


def _bytes(graph: Graph, name: str) -> int:
    if name in graph.initializers:
        return constant_bytes(graph.initializers[name])
    sparse = graph.sparse_initializers[name]
    return constant_bytes(sparse.values) + constant_bytes(sparse.indices)
