"""The executable plan: segments, copies between memories, and what was predicted for them.

A plan is data. ``to_json`` and ``from_json`` keep it beside the model for the next start;
``surplus.engine.runtime`` hands it to the core, which sees integer indices only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from surplus.engine.dfg.join import PartialJoin
from surplus.engine.errors import PlacementError
from surplus.placement.timeline import Timeline

FORMAT = "surplus-plan/5"
_READABLE = (FORMAT, "surplus-plan/4", "surplus-plan/3", "surplus-plan/2")
"""Version 4 had no holds, 3 no libraries of kernels, 2 no shards; all else is as it was."""


@dataclass(frozen=True)
class SegmentKernels:
    """A library's kernels for a segment, in place of ONNX Runtime's (engine/kernels).

    Parameters
    ----------
    library : str
    inputs : tuple of (int, tuple of int)
        Element type and sizes of each of the segment's inputs that it is compiled for; queries of
        others run with ONNX Runtime's.
    output_types : tuple of int
        Element type of each output.
    copies : int
        How many may run at once, each with weights of its own.
    weight_bytes : int
        What these take, of one copy.
    any_width : bool
        Whether it gives the same bits on one lane.
    precision : str
        What it computes in: ``f32``, or ``bf16`` or ``f16`` where that was asked for.
    """

    library: str
    inputs: tuple[tuple[int, tuple[int, ...]], ...]
    output_types: tuple[int, ...]
    copies: int = 1
    weight_bytes: int = 0
    any_width: bool = False
    precision: str = "f32"


@dataclass(frozen=True)
class Segment:
    """Tasks that run as one ONNX Runtime session.

    Parameters
    ----------
    name : str
        For traces and errors: its first task, and how many follow.
    device : int
        Index into the plan's devices.
    width : int
        Lanes that it occupies.
    tasks : tuple of int
        Task indices of the graph, ascending.
    inputs, outputs : tuple of str
        Tensor names that cross its boundary.
    rank : int
        Place in the planned start order; the runtime's priority.
    service_ns : int
        Predicted service time; what an emulated device charges.
    launch_ns : int
        How long launching its operators one by one keeps the device's submitting thread.
    captured : bool
        Whether it is to be submitted as one captured graph of operators.
    uncaptured_ns : int
        Of one that is captured: service time where the device fails to capture it.
    not_captured : str
        Why a GPU's segment is not captured.
    joins : tuple of PartialJoin
        Those among ``inputs`` and ``outputs``: parts of a Concat, done where its inputs are made.
    shards : int
        Into how many parts the batch of the graph is split whose tasks these are
        (engine/dfg/batch_split.py); 1 is the graph as it was read.
    kernels : SegmentKernels, optional
        Whose kernels it runs with; ONNX Runtime's without.
    awaits : tuple of str
        Tensors that have to be where its device reads them before it starts, although it does not
        read them: what a more urgent segment waits for that it is held behind.
    fixed_width : bool
        Whether another number of threads gives other bits.
    """

    name: str
    device: int
    width: int
    tasks: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rank: int
    service_ns: int
    launch_ns: int = 0
    captured: bool = False
    uncaptured_ns: int = 0
    not_captured: str = ""
    joins: tuple[PartialJoin, ...] = ()
    shards: int = 1
    kernels: SegmentKernels | None = None
    awaits: tuple[str, ...] = ()
    fixed_width: bool = False


@dataclass(frozen=True)
class Copy:
    """One tensor's move from one device's memory to another's; device indices.

    Parameters
    ----------
    awaits : tuple of str
        Tensors that have to be made before: whose copies it is held behind.
    """

    tensor: str
    source: int
    target: int
    rank: int
    awaits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that the runtime needs beside the graph.

    Parameters
    ----------
    source_hash : str
        The graph that it belongs to.
    name, policy : str
        Which segmentation of which placement policy.
    devices, memories : tuple of str
        Name and memory space of each device, by index.
    predicted : Timeline
        Simulated spans of its segments and copies.
    bound_ns : int
        Lower bound of any plan's makespan on these devices and costs.
    """

    source_hash: str
    name: str
    policy: str
    devices: tuple[str, ...]
    memories: tuple[str, ...]
    segments: tuple[Segment, ...]
    copies: tuple[Copy, ...]
    predicted: Timeline
    bound_ns: int

    @property
    def shards(self) -> int:
        """Into how many parts the batch is split: the same for all segments."""
        return max((segment.shards for segment in self.segments), default=1)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Names of the libraries whose kernels segments run with, beside ONNX Runtime's."""
        return tuple(sorted({s.kernels.library for s in self.segments if s.kernels}))

    def link_of(self, copy: Copy) -> str:
        """Name of the link that a copy goes over, as in timelines."""
        from surplus.placement.problem import link_name  # for who looks at a trace

        return link_name(self.memories[copy.source], self.memories[copy.target])

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        import json  # for who stores one

        return json.dumps({"format": FORMAT, **asdict(self)})

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read a plan.

        Raises
        ------
        PlacementError
            Naming the field that is missing, unknown or of a wrong type.
        """
        from surplus.placement.records import read_document  # for who has one stored

        try:
            return read_document(Plan, text, _READABLE, "plan")
        except ValueError as error:
            raise PlacementError(str(error)) from error

    @staticmethod
    def from_dict(raw: Any) -> Plan:
        """``from_json`` of what was decoded already."""
        from surplus.placement.records import read_formatted

        try:
            return read_formatted(Plan, raw, _READABLE, "plan")
        except ValueError as error:
            raise PlacementError(str(error)) from error
