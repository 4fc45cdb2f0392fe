"""What a prediction counts besides a segment of a plugin provider, and a run of it has within.

A provider copies inputs and outputs in each run of a session, and the copies of the plan only pass
values on. So a measured span has all, while the simulator puts the copies, and what any run takes
(its submission), beside the segment: what was measured is the segment's without these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.devices.spec import traits_of
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Link, Tensor


def within_runs_ns(
    graph: GroupGraph, service: ServiceTimes, order: Sequence[int]
) -> dict[int, int]:
    """Of each group on a plugin provider, by index; nothing of others.

    Parameters
    ----------
    order : sequence of int
        All groups as they started: the simulator copies a tensor once, for its first reader.
    """
    found = {
        index: service.submit_ns.get(group.device, 0)
        for index, group in enumerate(graph.groups)
        if _copies_in_runs(graph.problem.devices[group.device])
    }
    if not found:
        return found
    problem, placement = coarse_problem(graph, service)
    links = {(link.source, link.target): link for link in problem.links}
    memories = [problem.devices[device].memory for device in placement.device_of]
    place = {index: rank for rank, index in enumerate(order)}
    for tensor in problem.tensors:
        for index, link in _copies(tensor, memories, links, place, problem.devices[0].memory):
            if index in found and tensor.size_bytes:
                found[index] += link.copy_ns(tensor.size_bytes)
    return found


def _copies_in_runs(device: Device) -> bool:
    return traits_of(device.name).copies_in_runs


def _copies(
    tensor: Tensor,
    memories: Sequence[str],
    links: Mapping[tuple[str, str], Link],
    place: Mapping[int, int],
    host: str,
) -> list[tuple[int, Link]]:
    """The group that hands a tensor on or takes it over, for each copy of it."""
    made_in = host if tensor.producer < 0 else memories[tensor.producer]
    readers: dict[str, int] = {}
    for index in sorted(tensor.consumers, key=lambda index: -place[index]):
        readers[memories[index]] = index
    wanted = {*readers, *([host] if tensor.is_output else [])} - {made_in}
    return [
        (end, links[made_in, memory])
        for memory in wanted
        for end in (tensor.producer, readers.get(memory, -1))
        if end >= 0
    ]
