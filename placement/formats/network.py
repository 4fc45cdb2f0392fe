"""A profiled network as "Efficient Algorithms for Device Placement" publishes it.

References
----------
Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino: Efficient Algorithms for Device Placement
of DNN Graph Operators, NeurIPS 2020. Its times are milliseconds, which are nanoseconds here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surplus.placement.field_checks import ProblemError, shown
from surplus.placement.formats.amounts import scaled
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.records import read_record

_WHAT = "network"
_NS_PER_MS = 1_000_000
_ACCELERATORS_MOST = 256
"""Each has a link to each other."""

_NodeRow = tuple[int, int, float, float, int, int | None, float]
_EdgeRow = tuple[int, int, float]


@dataclass(frozen=True)
class PartitionNode:
    """An operator or a layer.

    Parameters
    ----------
    id : int
        Unique, in any order.
    on_accelerator : bool
        Whether an accelerator can run it; a CPU always can.
    cpu_ns, accelerator_ns : int
        Service times.
    is_backward : bool
        Whether it belongs to the backward pass of training.
    colour : int or None
        Nodes of one class share a device; None is free.
    size_bytes : int
        What it takes of the memory of an accelerator that runs it.
    """

    id: int
    on_accelerator: bool
    cpu_ns: int
    accelerator_ns: int
    is_backward: bool
    colour: int | None
    size_bytes: int


@dataclass(frozen=True)
class PartitionEdge:
    """A dependency; ``move_ns`` moves the source's output between an accelerator and the host."""

    source: int
    target: int
    move_ns: int


@dataclass(frozen=True)
class PartitionedNetwork:
    """Nodes in the file's order, edges by ids; the same ``move_ns`` for all edges of a source."""

    name: str
    granularity: str
    accelerators: int
    cpus: int
    accelerator_bytes: int
    nodes: tuple[PartitionNode, ...]
    edges: tuple[PartitionEdge, ...]


@dataclass(frozen=True)
class _Rows:
    """The file's own fields."""

    name: str
    granularity: str
    accelerators: int
    cpus: int
    accelerator_bytes: float
    nodes: tuple[_NodeRow, ...]
    edges: tuple[_EdgeRow, ...]


def read_network(file: ProblemText) -> PartitionedNetwork:
    """Read and check a network.

    Raises
    ------
    ProblemError
        Naming the field.
    """
    if file.raw is None:
        raise ProblemError(f"{_WHAT}: not JSON")
    try:
        rows = read_record(_Rows, file.raw, _WHAT)
    except ValueError as error:
        raise ProblemError(str(error)) from error
    _check_counts(rows)
    nodes = tuple(_node(place, row) for place, row in enumerate(rows.nodes))
    edges = tuple(_edge(place, row) for place, row in enumerate(rows.edges))
    _check_ids(nodes)
    _check_edges(edges, {node.id for node in nodes})
    capacity = scaled(f"{_WHAT}.accelerator_bytes", rows.accelerator_bytes, 1)
    return PartitionedNetwork(
        rows.name, rows.granularity, rows.accelerators, rows.cpus, capacity, nodes, edges
    )


def _node(place: int, row: _NodeRow) -> PartitionNode:
    field = f"{_WHAT}.nodes[{place}]"
    for column in (1, 4):
        if row[column] not in (0, 1):
            raise ProblemError(f"{field}[{column}] must be 0 or 1, got {shown(row[column])}")
    return PartitionNode(
        row[0],
        row[1] == 1,
        scaled(f"{field}[2]", row[2], _NS_PER_MS),
        scaled(f"{field}[3]", row[3], _NS_PER_MS),
        row[4] == 1,
        row[5],
        scaled(f"{field}[6]", row[6], 1),
    )


def _edge(place: int, row: _EdgeRow) -> PartitionEdge:
    return PartitionEdge(row[0], row[1], scaled(f"{_WHAT}.edges[{place}][2]", row[2], _NS_PER_MS))


def _check_counts(rows: _Rows) -> None:
    if not 0 <= rows.accelerators <= _ACCELERATORS_MOST:
        raise ProblemError(
            f"{_WHAT}.accelerators must be 0 to {_ACCELERATORS_MOST}, got {rows.accelerators}"
        )
    if rows.cpus < 1:
        raise ProblemError(f"{_WHAT}.cpus must be >= 1, got {rows.cpus}")


def _check_ids(nodes: Sequence[PartitionNode]) -> None:
    seen: set[int] = set()
    for place, node in enumerate(nodes):
        if node.id in seen:
            raise ProblemError(f"{_WHAT}.nodes[{place}][0]: id {node.id} comes twice")
        seen.add(node.id)


def _check_edges(edges: Sequence[PartitionEdge], ids: set[int]) -> None:
    moves: dict[int, int] = {}
    pairs: set[tuple[int, int]] = set()
    for place, edge in enumerate(edges):
        field = f"{_WHAT}.edges[{place}]"
        for column, node in enumerate((edge.source, edge.target)):
            if node not in ids:
                raise ProblemError(f"{field}[{column}]: there is no node {node}")
        if (edge.source, edge.target) in pairs:
            raise ProblemError(f"{field}: the edge {edge.source} -> {edge.target} comes twice")
        pairs.add((edge.source, edge.target))
        if moves.setdefault(edge.source, edge.move_ns) != edge.move_ns:
            raise ProblemError(
                f"{field}[2]: the output of node {edge.source} takes {edge.move_ns} ns here and"
                f" {moves[edge.source]} ns on another edge"
            )
