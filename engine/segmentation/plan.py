"""The executable plan: segments, copies between memories, and what was predicted for them.

A plan is data. ``to_json`` and ``from_json`` keep it beside the model for the next start;
``engine.runtime`` hands it to the core, which sees integer indices only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.dfg.extract import boundary_inputs, boundary_outputs
from engine.dfg.graph import Graph
from engine.dfg.partial_join import PartialJoin, joined_names
from engine.errors import PlacementError
from engine.segmentation.capture import refusal_of
from engine.segmentation.groups import Group, GroupGraph
from engine.segmentation.joins import partial_joins
from engine.segmentation.service import ServiceTimes
from placement.json_records import read_document
from placement.problem import link_name
from placement.timeline import SpanKind, Timeline

FORMAT = "surplus-plan/3"
_READABLE = (FORMAT, "surplus-plan/2")
"""Version 2 had no shards; all else is as it was."""


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


@dataclass(frozen=True)
class Copy:
    """One tensor's move from one device's memory to another's; device indices."""

    tensor: str
    source: int
    target: int
    rank: int


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

    def link_of(self, copy: Copy) -> str:
        """Name of the link that a copy goes over, as in timelines."""
        return link_name(self.memories[copy.source], self.memories[copy.target])

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read a plan.

        Raises
        ------
        PlacementError
            Naming the field that is missing, unknown or of a wrong type.
        """
        try:
            return read_document(Plan, text, _READABLE, "plan")
        except ValueError as error:
            raise PlacementError(str(error)) from error


def make_plan(
    graph: Graph,
    groups: GroupGraph,
    service: ServiceTimes,
    predicted: Timeline,
    *,
    name: str,
    policy: str,
    bound_ns: int,
    shards: int = 1,
) -> Plan:
    """Turn groups of tasks into segments with their boundary tensors, copies and ranks.

    Parameters
    ----------
    graph : Graph
        The split graph where ``shards`` is above 1.
    """
    devices = groups.problem.devices
    starts = {s.index: s.start_ns for s in predicted if s.kind is not SpanKind.COPY}
    order = sorted(range(len(groups.groups)), key=lambda i: (starts.get(i, 0), i))
    rank = {index: place for place, index in enumerate(order)}
    joins = partial_joins(graph, groups)
    segments = tuple(
        replace(_segment(graph, group, rank[index], service, joins[index]), shards=shards)
        for index, group in enumerate(groups.groups)
    )
    memories = tuple(device.memory for device in devices)
    return Plan(
        source_hash=graph.source_hash,
        name=name,
        policy=policy,
        devices=tuple(device.name for device in devices),
        memories=memories,
        segments=segments,
        copies=_copies(graph, segments, memories),
        predicted=predicted,
        bound_ns=bound_ns,
    )


def _segment(
    graph: Graph, group: Group, rank: int, service: ServiceTimes, joins: Sequence[PartialJoin]
) -> Segment:
    first = graph.tasks[group.tasks[0]].name
    return Segment(
        name=first if len(group.tasks) == 1 else f"{first} +{len(group.tasks) - 1}",
        device=group.device,
        width=group.width,
        tasks=group.tasks,
        inputs=tuple(joined_names(boundary_inputs(graph, group.tasks), joins)),
        outputs=tuple(joined_names(boundary_outputs(graph, group.tasks), joins)),
        rank=rank,
        service_ns=service.of_group(group),
        joins=tuple(joins),
        **_submission(graph, group, service),
    )


def _submission(graph: Graph, group: Group, service: ServiceTimes) -> dict[str, Any]:
    """How a GPU's segment is submitted; nothing for other devices."""
    launches = service.launch_ns.get(group.device)
    if launches is None:
        return {}
    launch_ns = sum(launches[task] for task in group.tasks)
    if service.is_captured(group.tasks, group.device):
        uncaptured_ns = service.uncaptured_ns(group.tasks, group.device)
        return {"launch_ns": launch_ns, "captured": True, "uncaptured_ns": uncaptured_ns}
    off = group.device not in service.captured_ns
    reason = "capture is off" if off else refusal_of(graph, group.tasks)
    return {"launch_ns": launch_ns, "not_captured": reason or "no captured time in the profile"}


def _copies(
    graph: Graph, segments: tuple[Segment, ...], memories: tuple[str, ...]
) -> tuple[Copy, ...]:
    """One copy per tensor and memory that needs it; inputs start and outputs end at device 0.

    A metadata-only tensor is not copied: its readers look at its shape where it is.
    """
    made_on = {name: s.device for s in segments for name in s.outputs}
    found: dict[tuple[str, str], Copy] = {}

    def need(name: str, target: int, rank: int) -> None:
        source = made_on.get(name, 0)
        key = (name, memories[target])
        # The same memory first: that is where partial joins stay, which are no tensors.
        if memories[source] == memories[target]:
            return
        if graph.tensors[graph.tensor_index[name]].metadata_only:
            return
        if key not in found or found[key].rank > rank:
            found[key] = Copy(name, source, target, rank)

    for segment in segments:
        for name in segment.inputs:
            need(name, segment.device, segment.rank)
    for index in graph.outputs:
        need(graph.tensors[index].name, 0, len(segments))
    # Of one moment the core takes the most urgent first, as the simulator does.
    return tuple(sorted(found.values(), key=lambda c: (c.rank, graph.tensor_index[c.tensor])))
