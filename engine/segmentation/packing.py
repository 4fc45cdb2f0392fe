"""Packs the clusters of each phase into about one group per lane."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import groupby

from engine.segmentation.clusters import Cluster
from engine.segmentation.groups import Group
from engine.segmentation.service import ServiceTimes
from placement.problem import Problem


def pack(
    problem: Problem, cut: Sequence[Cluster], service: ServiceTimes, per_lane: int = 1
) -> list[Group]:
    """Merge clusters of equal phase and device into at most ``per_lane`` groups a lane.

    Largest first into the least loaded group (LPT, Graham 1969); a cluster that is larger than
    a lane's share stays alone. Merging within a phase keeps the graph acyclic (clusters.py).
    """
    groups: list[Group] = []
    ordered = sorted(cut, key=lambda c: (c.phase, c.device, c.tasks[0]))
    for (_, device), members in groupby(ordered, key=lambda c: (c.phase, c.device)):
        bins = problem.devices[device].lanes * per_lane
        groups += longest_first(list(members), device, bins, service)
    return groups


def longest_first(
    members: Sequence[Cluster], device: int, bins: int, service: ServiceTimes
) -> list[Group]:
    """Deal clusters that may be merged in any combination out to ``bins`` groups of one lane."""
    if len(members) <= bins:
        return [Group(c.tasks, device) for c in members]
    sized = sorted(
        ((service.group_ns(c.tasks, device, 1) - service.boundary_ns, c) for c in members),
        key=lambda pair: (-pair[0], pair[1].tasks[0]),
    )
    heap = [(0, index) for index in range(bins)]
    contents: list[list[int]] = [[] for _ in range(bins)]
    for size, cluster in sized:
        load, index = heapq.heappop(heap)
        contents[index].extend(cluster.tasks)
        heapq.heappush(heap, (load + size, index))
    return [Group(tuple(sorted(tasks)), device) for tasks in contents if tasks]
