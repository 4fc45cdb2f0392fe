"""The networks of "Efficient Algorithms for Device Placement" (``network.py``) as problems.

Departures: in the paper an accelerator computes or communicates, and devices take contiguous parts
of the graph; here copies run beside tasks, as on every other problem. The publication has times
that moving an output takes rather than its bytes: tensors have a byte for each nanosecond of these,
and links move 1 GB/s. Between accelerators data goes by way of the host, which takes twice as long.
Colour classes, which no problem has, are left out: bounds hold with them, plans may break them.
"""

from __future__ import annotations

from itertools import permutations

from surplus.placement.field_checks import ProblemError
from surplus.placement.formats.network import PartitionedNetwork, read_network
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.task_order import in_order
from surplus.placement.problem import Device, Link, Problem, Task, Tensor

_BYTES_PER_S = 1e9
"""So that a byte moves in a nanosecond."""


class DnnPartitioning:
    """Its CPUs are lanes of the host; accelerators have a lane and a memory each."""

    def recognises(self, file: ProblemText) -> bool:
        """By a field that no other format has."""
        return file.has_field("accelerators")

    def read(self, file: ProblemText, params: ReadParams) -> Problem:
        """As of the publication's machine.

        Raises
        ------
        ProblemError
            Naming the field; also if processors are asked for, since the file says its own.
        """
        if params.processors is not None:
            raise ProblemError("network.cpus: the file says its own, so none can be asked for")
        return problem_of_network(read_network(file))


def problem_of_network(network: PartitionedNetwork) -> Problem:
    """The network as a problem; task ``n7`` is node 7.

    Raises
    ------
    ProblemError
        If a node waits for itself.
    """
    accelerators = [f"accelerator:{index}" for index in range(network.accelerators)]
    devices = (
        Device("cpu", network.cpus),
        *(
            Device(name, memory=name, memory_bytes=network.accelerator_bytes)
            for name in accelerators
        ),
    )
    tasks, tensors = in_order(_tasks(network), _tensors(network))
    notes = {
        "times": "of the publication, in milliseconds there",
        "sizes": "a byte is a nanosecond of moving the tensor to or from the host",
        "left out": "colour classes, contiguity",
    }
    return Problem(network.name, devices, _links(accelerators), tasks, tensors, notes)


def _tasks(network: PartitionedNetwork) -> list[Task]:
    rows = []
    for node in network.nodes:
        away_ns = node.accelerator_ns if node.on_accelerator else None
        times = (node.cpu_ns, *[away_ns] * network.accelerators)
        default = 1 if node.on_accelerator and network.accelerators else 0
        kind = "Backward" if node.is_backward else "Forward"
        rows.append(
            Task(f"n{node.id}", kind, times, default_device=default, weight_bytes=node.size_bytes)
        )
    return rows


def _tensors(network: PartitionedNetwork) -> list[Tensor]:
    place = {node.id: index for index, node in enumerate(network.nodes)}
    readers: dict[int, list[int]] = {}
    moves: dict[int, int] = {}
    for edge in network.edges:
        readers.setdefault(edge.source, []).append(place[edge.target])
        moves[edge.source] = edge.move_ns
    return [Tensor(f"x{node}", place[node], tuple(to), moves[node]) for node, to in readers.items()]


def _links(accelerators: list[str]) -> tuple[Link, ...]:
    there = (Link("host", name, bytes_per_s=_BYTES_PER_S) for name in accelerators)
    back = (Link(name, "host", bytes_per_s=_BYTES_PER_S) for name in accelerators)
    across = (Link(a, b, bytes_per_s=_BYTES_PER_S / 2) for a, b in permutations(accelerators, 2))
    return (*there, *back, *across)
