"""The placement problem: tasks, tensors, devices and links, without any ONNX.

Time is integer nanoseconds, sizes are bytes. The JSON form (``Problem.to_json``) is the
documented exchange format of ``python -m surplus.milp`` (docs/FORMATS.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from surplus.placement.field_checks import ProblemError
from surplus.placement.machine_check import check_blob, check_device, check_link
from surplus.placement.problem_check import check_problem
from surplus.placement.records import read_document
from surplus.placement.widths import Place, TimeAt, least_service_ns, places_of, times_at

FORMAT = "surplus-problem/4"
_READABLE = (FORMAT, *(f"surplus-problem/{version}" for version in (3, 2, 1)))
"""1 had no blobs, submission, slow-down, launches nor staging, 2 no spreads, 3 one width a task."""


@dataclass(frozen=True)
class Device:
    """What executes tasks.

    Parameters
    ----------
    name : str
        Unique, for example ``cpu`` or ``emulated:gpu``.
    lanes : int
        How many tasks of width 1 run at once (CPU workers, GPU streams), >= 1.
    memory : str
        The memory space that its tasks read and write. Devices may share one.
    memory_bytes : int or None
        Capacity of its memory space for tensors and weights; None means unlimited. Of devices
        that share a memory the least counts.
    submit_ns : int
        How long its one submitting thread is busy with each task before the task can start.
    slowdown : tuple of float
        Factor on the service time of a task that starts with 1, 2, ... busy lanes, itself
        included; the last holds for more. Empty means that lanes do not slow each other.
    """

    name: str
    lanes: int = 1
    memory: str = "host"
    memory_bytes: int | None = None
    submit_ns: int = 0
    slowdown: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_device(self)

    def slowed_ns(self, service_ns: int, busy: int) -> int:
        """Service time of a task that starts with ``busy`` lanes busy, its own included."""
        if not self.slowdown:
            return service_ns
        return int(service_ns * self.slowdown[min(busy, len(self.slowdown)) - 1])

    def least_ns(self, service_ns: int, width: int) -> int:
        """Least that a task of ``width`` lanes can take here, whatever runs beside it."""
        last = max(width, min(self.lanes, len(self.slowdown)))
        return min(self.slowed_ns(service_ns, busy) for busy in range(width, last + 1))


def link_name(source: str, target: str) -> str:
    """Name of the link between two memory spaces."""
    return f"{source}->{target}"


@dataclass(frozen=True)
class Link:
    """A directed pair of memory spaces; copies over one link run one after another.

    A copy of ``b`` bytes holds the link for ``occupancy_ns + b / bytes_per_s`` and its data is
    there ``latency_ns`` after the link let go of it. With ``staging_bytes`` it holds its bytes of
    a pinned pool until then, all of the pool if it is larger; a copy that finds too little of it
    waits. A ``pageable`` link's copies hold the submitting thread of the device that they go to
    (come from, if they go to the host) for as long as the link.
    """

    source: str
    target: str
    latency_ns: int = 0
    bytes_per_s: float = 10e9
    occupancy_ns: int = 0
    staging_bytes: int | None = None
    pageable: bool = False

    def __post_init__(self) -> None:
        check_link(self)

    @property
    def name(self) -> str:
        """``source->target``, the link's name in timelines."""
        return link_name(self.source, self.target)

    def hold_ns(self, size_bytes: int) -> int:
        """How long one copy of ``size_bytes`` occupies the link."""
        return self.occupancy_ns + round(size_bytes * 1e9 / self.bytes_per_s)

    def copy_ns(self, size_bytes: int) -> int:
        """From the start of a copy until its data is there."""
        return self.hold_ns(size_bytes) + self.latency_ns


@dataclass(frozen=True)
class Blob:
    """Constant data that several tasks may hold; it lies once in each memory of their devices."""

    name: str
    size_bytes: int

    def __post_init__(self) -> None:
        check_blob(self)


@dataclass(frozen=True)
class Task:
    """A unit of work.

    Parameters
    ----------
    name : str
        Unique within the problem.
    kind : str
        The operator type, for tables and colours.
    service_ns : tuple of (int or None)
        Service time on each device, by device index; None where it cannot run.
    widths : tuple of int
        Lanes that it occupies at once on each device; empty means 1 everywhere.
    default_device : int
        Where today's runtime would put it (the ``single`` policy).
    weight_bytes : int
        Constants in the memory of its device, ``blobs`` included; what is in none is its own.
    blobs : tuple of int
        Indices of the blobs that it holds, distinct and ascending.
    launch_ns : tuple of int
        How long the device's submitting thread is busy with it, by device, from when it can
        start on: operators launched one by one. Empty means 0 everywhere.
    spread_ns : tuple of int
        Median absolute deviation of the service time on each device; empty means not known.
    wider_ns : tuple of tuple of (int, int)
        By device, further widths, ascending, with the service time at each; empty means none.
    """

    name: str
    kind: str
    service_ns: tuple[int | None, ...]
    widths: tuple[int, ...] = ()
    default_device: int = 0
    weight_bytes: int = 0
    blobs: tuple[int, ...] = ()
    launch_ns: tuple[int, ...] = ()
    spread_ns: tuple[int, ...] = ()
    wider_ns: tuple[tuple[TimeAt, ...], ...] = ()

    def launches_ns(self, device: int) -> int:
        """How long it holds the submitting thread of ``device`` after its start."""
        return self.launch_ns[device] if self.launch_ns else 0

    def width(self, device: int) -> int:
        """Lanes occupied on ``device``, at least."""
        return self.widths[device] if self.widths else 1


@dataclass(frozen=True)
class Tensor:
    """A value that flows between tasks; an edge of the DFG with all its consumers.

    Parameters
    ----------
    name : str
        Unique within the problem.
    producer : int
        Index of the task that makes it; -1 for an input of the graph, in device 0's memory.
    consumers : tuple of int
        Indices of the tasks that read it, each once, ascending.
    size_bytes : int
        What a copy moves; 0 for metadata-only edges, which are precedence without a copy.
    is_output : bool
        Whether it is an output of the whole graph and must end in the memory of device 0.
    """

    name: str
    producer: int
    consumers: tuple[int, ...]
    size_bytes: int
    is_output: bool = False


@dataclass(frozen=True)
class Problem:
    """Tasks in a topological order, the tensors between them, and the machine.

    Device 0 is the host: graph inputs start and graph outputs end in its memory.
    """

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    tasks: tuple[Task, ...]
    tensors: tuple[Tensor, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    blobs: tuple[Blob, ...] = ()

    def __post_init__(self) -> None:
        check_problem(self)

    @cached_property
    def inputs_of(self) -> tuple[tuple[int, ...], ...]:
        """Tensor indices that each task reads."""
        rows: list[list[int]] = [[] for _ in self.tasks]
        for index, tensor in enumerate(self.tensors):
            for task in tensor.consumers:
                rows[task].append(index)
        return tuple(map(tuple, rows))

    @cached_property
    def outputs_of(self) -> tuple[tuple[int, ...], ...]:
        """Tensor indices that each task makes."""
        rows: list[list[int]] = [[] for _ in self.tasks]
        for index, tensor in enumerate(self.tensors):
            if tensor.producer >= 0:
                rows[tensor.producer].append(index)
        return tuple(map(tuple, rows))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that each task waits for, ascending."""
        rows: list[set[int]] = [set() for _ in self.tasks]
        for tensor in self.tensors:
            if tensor.producer >= 0:
                for task in tensor.consumers:
                    rows[task].add(tensor.producer)
        return tuple(tuple(sorted(row)) for row in rows)

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that wait for each task, ascending."""
        rows: list[set[int]] = [set() for _ in self.tasks]
        for task, before in enumerate(self.predecessors):
            for other in before:
                rows[other].add(task)
        return tuple(tuple(sorted(row)) for row in rows)

    @cached_property
    def least_service_ns(self) -> tuple[tuple[int | None, ...], ...]:
        """Of each task by device: what bounds may count on, however lanes slow each other."""
        return least_service_ns(self)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Each device, then each again for each further width that a task may take there."""
        return places_of(self)

    @cached_property
    def _link_table(self) -> Mapping[tuple[str, str], Link]:
        return {(link.source, link.target): link for link in self.links}

    @cached_property
    def links_by_name(self) -> Mapping[str, Link]:
        """The link that a copy's span names as its resource."""
        return {link.name: link for link in self.links}

    def link(self, source: int, target: int) -> Link | None:
        """The link from device ``source``'s memory to ``target``'s; None if they share one."""
        a, b = self.devices[source].memory, self.devices[target].memory
        return None if a == b else self._link_table[a, b]

    def copy_ns(self, source: int, target: int, size_bytes: int) -> int:
        """Time of one copy between two devices' memories; 0 for shared memory or no bytes."""
        link = self.link(source, target)
        return 0 if link is None or size_bytes == 0 else link.copy_ns(size_bytes)

    def fastest_ns(self, task: int) -> int:
        """Least service time of ``task`` over devices and widths."""
        devices = range(len(self.devices))
        return min(ns for d in devices for _, ns in times_at(self.tasks[task], d))

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @staticmethod
    def from_json(text: str) -> Problem:
        """Read a problem.

        Raises
        ------
        ProblemError
            Naming the field that is missing, unknown or out of range.
        """
        try:
            return read_document(Problem, text, _READABLE, "problem")
        except ValueError as error:
            raise ProblemError(str(error)) from error
