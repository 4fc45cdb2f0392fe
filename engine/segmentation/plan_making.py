"""Turns groups of tasks into an executable plan (plan.py): what it submits, copies and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.join import PartialJoin
from surplus.engine.dfg.partial_join import joined_names
from surplus.engine.segmentation.capture import refusal_of
from surplus.engine.segmentation.group_holds import held_copies, held_segments, planned_ranks
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.joins import partial_joins
from surplus.engine.segmentation.plan import Copy, Plan, Segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.timeline import SpanKind, Timeline


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
    rank = _ranks(groups, predicted)
    joins = partial_joins(graph, groups)
    segments = tuple(
        replace(_segment(graph, group, rank[index], service, joins[index]), shards=shards)
        for index, group in enumerate(groups.groups)
    )
    memories = tuple(device.memory for device in devices)
    copies = copies_of(graph, segments, memories)
    if groups.planned is not None:
        segments = held_segments(groups, groups.planned, segments)
        copies = held_copies(groups.problem, groups.planned, copies, memories)
    return Plan(
        source_hash=graph.source_hash,
        name=name,
        policy=policy,
        devices=tuple(device.name for device in devices),
        memories=memories,
        segments=segments,
        copies=copies,
        predicted=predicted,
        bound_ns=bound_ns,
    )


def _ranks(groups: GroupGraph, predicted: Timeline) -> Sequence[int]:
    """As the order is planned, or else as the segments are predicted to start."""
    if groups.planned is not None:
        return planned_ranks(groups, groups.planned)
    starts = {s.index: s.start_ns for s in predicted if s.kind is not SpanKind.COPY}
    order = sorted(range(len(groups.groups)), key=lambda i: (starts.get(i, 0), i))
    ranks = [0] * len(order)
    for place, index in enumerate(order):
        ranks[index] = place
    return ranks


def _segment(
    graph: Graph, group: TaskGroup, rank: int, service: ServiceTimes, joins: Sequence[PartialJoin]
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


def _submission(graph: Graph, group: TaskGroup, service: ServiceTimes) -> dict[str, Any]:
    """How a GPU's segment is submitted; nothing for other devices."""
    launches = service.launch_ns.get(group.device)
    if launches is None:
        return {}
    launch_ns = sum(launches[task] for task in group.tasks)
    if service.is_captured(group.tasks, group.device):
        uncaptured_ns = service.uncaptured_ns(group.tasks, group.device)
        return {"launch_ns": launch_ns, "captured": True, "uncaptured_ns": uncaptured_ns}
    if service.may_be_captured(group.tasks, group.device):
        reason = "too few operators for a graph to pay"
    elif group.device not in service.captured_ns:
        reason = "capture is off"
    else:
        reason = refusal_of(graph, group.tasks) or "no captured time in the profile"
    return {"launch_ns": launch_ns, "not_captured": reason}


def copies_of(
    graph: Graph, segments: tuple[Segment, ...], memories: tuple[str, ...]
) -> tuple[Copy, ...]:
    """One copy per tensor and memory that needs it, by rank.

    Inputs start and outputs end at device 0.
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
