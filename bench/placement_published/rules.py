"""The rules of "Efficient Algorithms for Device Placement" for throughput, which no Problem has.

An accelerator computes or communicates: its load is the time of its nodes, and what it takes to
fetch each output of another device that one of them reads, once, and to bring away each of its own
that another device reads, once. A CPU's load is the time of its nodes alone. Nodes of a colour
class share a device, and what lies on an accelerator fits into its memory. *Contiguous* are the
sets of devices that can be put in a line such that no forward edge leads back: what the paper's
dynamic programme over ideals finds the best of. (Each set being contiguous by itself is weaker: two
may depend on each other.) Backward nodes follow their classes.

References
----------
Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino: Efficient Algorithms for Device Placement
of DNN Graph Operators, NeurIPS 2020, sections 3 and 5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surplus.placement.formats.network import PartitionedNetwork

CPU = -1
"""The CPU in an assignment; accelerators are numbered from 0."""


@dataclass(frozen=True)
class Class:
    """Nodes that share a device.

    Parameters
    ----------
    nodes : tuple of int
        Their ids.
    cpu_ns, accelerator_ns : int
        Together.
    on_accelerator : bool
        Whether an accelerator can run all of them.
    size_bytes : int
        Of an accelerator's memory.
    """

    nodes: tuple[int, ...]
    cpu_ns: int
    accelerator_ns: int
    on_accelerator: bool
    size_bytes: int


@dataclass(frozen=True)
class Output:
    """What a node makes, for classes other than its own.

    Parameters
    ----------
    source : int
        The class that makes it.
    readers : tuple of int
        The other classes that read it.
    move_ns : int
        Between an accelerator and the host.
    """

    source: int
    readers: tuple[int, ...]
    move_ns: int


@dataclass(frozen=True)
class Folded:
    """A network whose classes are nodes.

    Parameters
    ----------
    before : tuple of tuple of int
        Pairs of classes of which a forward edge leads from the first to the second.
    """

    network: PartitionedNetwork
    classes: tuple[Class, ...]
    outputs: tuple[Output, ...]
    before: tuple[tuple[int, int], ...]


def folded(network: PartitionedNetwork) -> Folded:
    """Join the nodes of each class."""
    place: dict[int, int] = {}
    rows: dict[object, list[int]] = defaultdict(list)
    nodes = {node.id: node for node in network.nodes}
    for node in network.nodes:
        rows[("alone", node.id) if node.colour is None else node.colour].append(node.id)
    classes = []
    for index, ids in enumerate(rows.values()):
        place |= dict.fromkeys(ids, index)
        own = [nodes[i] for i in ids]
        classes.append(
            Class(
                tuple(ids),
                sum(node.cpu_ns for node in own),
                sum(node.accelerator_ns for node in own),
                all(node.on_accelerator for node in own),
                sum(node.size_bytes for node in own),
            )
        )
    readers: dict[int, set[int]] = defaultdict(set)
    moves: dict[int, int] = {}
    before = set()
    for edge in network.edges:
        moves[edge.source] = edge.move_ns
        source, target = place[edge.source], place[edge.target]
        if source == target:
            continue
        readers[edge.source].add(target)
        if not (nodes[edge.source].is_backward or nodes[edge.target].is_backward):
            before.add((source, target))
    outputs = (Output(place[i], tuple(sorted(to)), moves[i]) for i, to in readers.items())
    return Folded(network, tuple(classes), tuple(outputs), tuple(sorted(before)))


def loads_ns(problem: Folded, device_of: Sequence[int]) -> Mapping[int, int]:
    """Load of each device that classes are on, by the rules.

    Parameters
    ----------
    device_of : sequence of int
        Of each class: an accelerator, or ``CPU``, which stands for the only one.
    """
    found: dict[int, int] = defaultdict(int)
    for device, row in zip(device_of, problem.classes, strict=True):
        found[device] += row.cpu_ns if device == CPU else row.accelerator_ns
    for output in problem.outputs:
        source = device_of[output.source]
        others = {device_of[reader] for reader in output.readers} - {source}
        for device in (*others, *([source] if others else [])):
            if device != CPU:
                found[device] += output.move_ns
    return found


def faults(problem: Folded, device_of: Sequence[int]) -> list[str]:
    """What an assignment breaks, contiguity not counted."""
    network = problem.network
    found = []
    held: dict[int, int] = defaultdict(int)
    for device, row in zip(device_of, problem.classes, strict=True):
        if device == CPU:
            continue
        held[device] += row.size_bytes
        if not 0 <= device < network.accelerators:
            found.append(f"node {row.nodes[0]}: there is no accelerator {device}")
        if not row.on_accelerator:
            found.append(f"node {row.nodes[0]}: no accelerator runs it")
    found += [
        f"accelerator {device}: {size} bytes"
        for device, size in held.items()
        if size > network.accelerator_bytes
    ]
    return found


def is_contiguous(problem: Folded, device_of: Sequence[int]) -> bool:
    """Whether the devices' sets can be put in a line such that no forward edge leads back."""
    after: dict[int, set[int]] = defaultdict(set)
    for source, target in problem.before:
        if device_of[source] != device_of[target]:
            after[device_of[target]].add(device_of[source])
    left = set(device_of)
    while left:
        free = {device for device in left if not after[device] & left}
        if not free:
            return False
        left -= free
    return True
