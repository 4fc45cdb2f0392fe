"""Local moves on a segmentation: what else could be tried next to the best one known.

Each move gives a new graph of groups; those that would form a cycle are left out. A move is
judged by the simulator with times learned from measured segments, so it is predicted well where
it keeps most groups as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from surplus.engine.segmentation.clusters import Cluster, clusters
from surplus.engine.segmentation.disjoint_sets import DisjointSets
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup, merged
from surplus.engine.segmentation.packing import longest_first
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.widths import best_width
from surplus.placement.problem import Problem

Move = tuple[str, GroupGraph]
"""The kind of a move and what comes of it."""

_HEAVIEST = 12
"""How many groups each kind of move looks at, the longest ones first."""

_FANS = (2, 4, 16)


def moves(graph: GroupGraph, service: ServiceTimes) -> Iterator[Move]:
    """All moves worth a look, kind after kind."""
    heavy = sorted(range(len(graph.groups)), key=lambda i: -service.of_group(graph.groups[i]))
    chosen = heavy[:_HEAVIEST]
    yield from _widths(graph, chosen, service)
    yield from _merges(graph, chosen, service)
    yield from _splits(graph, chosen, service)
    yield from _balances(graph, chosen, service)


def _replaced(
    graph: GroupGraph, gone: Sequence[int], new: Sequence[TaskGroup]
) -> GroupGraph | None:
    kept = [group for index, group in enumerate(graph.groups) if index not in gone]
    try:
        return GroupGraph(graph.problem, [*kept, *new])
    except ValueError:
        return None


def _widths(graph: GroupGraph, chosen: Sequence[int], service: ServiceTimes) -> Iterator[Move]:
    for index in chosen:
        group = graph.groups[index]
        for width in service.widths(group.device):
            changed = _replaced(graph, [index], [replace(group, width=width)])
            if width != group.width and changed is not None:
                yield f"width {width}", changed


def _merges(graph: GroupGraph, chosen: Sequence[int], service: ServiceTimes) -> Iterator[Move]:
    """A group and one that follows it, where nothing lies in between."""
    for index, before in enumerate(graph.predecessors):
        for other in before:
            pair = [graph.groups[other], graph.groups[index]]
            if pair[0].device != pair[1].device or not {index, other} & set(chosen):
                continue
            changed = _replaced(graph, [index, other], [best_width(merged(pair), service)])
            if changed is not None:
                yield "merge", changed


def _splits(graph: GroupGraph, chosen: Sequence[int], service: ServiceTimes) -> Iterator[Move]:
    """A group by the phases of its own tasks, each packed onto the lanes of its device."""
    for index in chosen:
        group = graph.groups[index]
        seen: set[tuple[TaskGroup, ...]] = set()
        for fan in _FANS:
            parts = _parts(graph.problem, group, fan, service)
            if len(parts) > 1 and tuple(parts) not in seen:
                seen.add(tuple(parts))
                changed = _replaced(graph, [index], parts)
                if changed is not None:
                    yield "split", changed


def _parts(problem: Problem, group: TaskGroup, fan: int, service: ServiceTimes) -> list[TaskGroup]:
    """The group's tasks cut and packed as a model of their own."""
    inside = set(group.tasks)
    # Tasks outside count as of another device, so every edge to them is cut.
    device_of = [group.device if t in inside else -1 for t in range(len(problem.tasks))]
    cut = [c for c in clusters(problem, device_of, fan) if c.device == group.device]
    lanes = problem.devices[group.device].lanes
    return [
        best_width(part, service) if len(row) == 1 else part
        for row in _by_phase(cut)
        for part in longest_first(row, group.device, lanes, service)
    ]


def _by_phase(cut: Sequence[Cluster]) -> list[list[Cluster]]:
    rows: dict[int, list[Cluster]] = {}
    for cluster in cut:
        rows.setdefault(cluster.phase, []).append(cluster)
    return list(rows.values())


def _balances(graph: GroupGraph, chosen: Sequence[int], service: ServiceTimes) -> Iterator[Move]:
    """Two groups that may run side by side, their independent parts dealt out anew.

    Groups that no path connects may exchange whole components without forming a cycle.
    """
    for a, b in combinations(sorted(chosen), 2):
        pair = (graph.groups[a], graph.groups[b])
        if pair[0].device != pair[1].device or graph.ancestors[b] >> a & 1:
            continue
        parts = [
            Cluster(tasks, group.device, 0) for group in pair for tasks in _components(graph, group)
        ]
        dealt = longest_first(parts, pair[0].device, 2, service)
        if len(parts) > 2 and {*dealt} != {*pair}:
            changed = _replaced(graph, [a, b], dealt)
            if changed is not None:
                yield "balance", changed


def _components(graph: GroupGraph, group: TaskGroup) -> list[tuple[int, ...]]:
    """Tasks of a group that only edges inside it connect."""
    inside = set(group.tasks)
    joined = DisjointSets(group.tasks)
    for task in group.tasks:
        for other in inside.intersection(graph.problem.predecessors[task]):
            joined.join(task, other)
    return joined.sets()
