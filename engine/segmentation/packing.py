"""Packs the clusters of each phase into about one group per lane."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import groupby

from surplus.engine.segmentation.clusters import Cluster
from surplus.engine.segmentation.groups import TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Problem

Sized = tuple[int, Cluster]
"""A cluster with its time in nanoseconds."""

_WORTH_ORDER = 1.02
_WORTH_ORDER_NS = 300
"""How much longer the longest group may take for the sake of neighbours: by this factor, and by so
much for each cluster (a tensor of its own costs about 0.5 µs to hand over)."""


def pack(
    problem: Problem, cut: Sequence[Cluster], service: ServiceTimes, per_lane: int = 1
) -> list[TaskGroup]:
    """Merge clusters of equal phase and device into at most ``per_lane`` groups a lane.

    What a GPU captures and what it does not are packed for themselves, and so are clusters of
    different widths: of two lanes there are half as many groups.

    Largest first into the least loaded group (LPT, Graham 1969); a cluster that is larger than
    a lane's share stays alone. Neighbours stay together where that balances as well: their
    results often meet in one Concat, of which each group can then do its part (joins.py).
    Merging within a phase keeps the graph acyclic (clusters.py).
    """
    groups: list[TaskGroup] = []

    def kind(c: Cluster) -> tuple[int, int, int, bool]:
        return c.phase, c.device, c.width, service.may_be_captured(c.tasks, c.device)

    ordered = sorted(cut, key=lambda c: (kind(c), c.tasks[0]))
    for (_, device, width, _), members in groupby(ordered, key=kind):
        bins = problem.devices[device].lanes // width * per_lane
        groups += longest_first(list(members), device, bins, service, width)
    return groups


def longest_first(
    members: Sequence[Cluster], device: int, bins: int, service: ServiceTimes, width: int = 1
) -> list[TaskGroup]:
    """Deal clusters that may be merged in any combination out to ``bins`` groups of a width."""
    if len(members) <= bins:
        return [TaskGroup(c.tasks, device, width) for c in members]
    sized = [
        (service.group_ns(c.tasks, device, width) - service.start_ns(width), c)
        for c in sorted(members, key=lambda c: c.tasks[0])
    ]
    dealt, in_order = _largest_first(sized, bins), _in_order(sized, bins)
    allowed_ns = _WORTH_ORDER * _largest_load(dealt) + _WORTH_ORDER_NS * len(sized)
    if _largest_load(in_order) <= allowed_ns:
        dealt = in_order
    return [
        TaskGroup(
            tuple(sorted(task for _, cluster in row for task in cluster.tasks)), device, width
        )
        for row in dealt
        if row
    ]


def _largest_first(sized: Sequence[Sized], bins: int) -> list[list[Sized]]:
    heap = [(0, index) for index in range(bins)]
    contents: list[list[Sized]] = [[] for _ in range(bins)]
    for size, cluster in sorted(sized, key=lambda pair: (-pair[0], pair[1].tasks[0])):
        load, index = heapq.heappop(heap)
        contents[index].append((size, cluster))
        heapq.heappush(heap, (load + size, index))
    return contents


def _in_order(sized: Sequence[Sized], bins: int) -> list[list[Sized]]:
    """Neighbours together, cut where the running total passes a bin's share."""
    contents: list[list[Sized]] = [[] for _ in range(bins)]
    total, done = sum(size for size, _ in sized), 0
    for size, cluster in sized:
        middle = done + size / 2
        contents[min(bins - 1, int(middle * bins / max(1, total)))].append((size, cluster))
        done += size
    return contents


def _largest_load(contents: Sequence[Sequence[Sized]]) -> int:
    return max(sum(size for size, _ in row) for row in contents)
