"""Chooses between width and parallelism, region by region.

Heavy linear phases want all lanes of a CPU at once, wide phases one lane per branch. Between
two serial groups lies a region whose inside no other region overlaps, so each can be decided on
its own: run its groups side by side, or collapse it into one segment that has all lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.segmentation.coarse import coarse_problem
from engine.segmentation.groups import Group, GroupGraph, merged
from engine.segmentation.service import ServiceTimes
from placement.simulator import simulate


def choose_widths(graph: GroupGraph, service: ServiceTimes) -> GroupGraph:
    """Collapse regions that gain nothing from parallelism, then merge serial neighbours."""
    groups: list[Group] = []
    for serial, members in graph.stretches():
        if serial:
            groups += [graph.groups[i] for i in members]
        else:
            groups += _decide(graph, members, service)
    decided = GroupGraph(graph.problem, groups)
    return _merge_serial(decided, service)


def _decide(graph: GroupGraph, members: Sequence[int], service: ServiceTimes) -> list[Group]:
    groups = [graph.groups[i] for i in members]
    if len({group.device for group in groups}) > 1:
        return groups
    one = best_width(merged(groups), service)
    side_by_side = simulate(*coarse_problem(graph, service, members)).makespan_ns
    return [one] if service.of_group(one) <= side_by_side else groups


def _merge_serial(graph: GroupGraph, service: ServiceTimes) -> GroupGraph:
    groups: list[Group] = []
    for serial, members in graph.stretches():
        if not serial:
            groups += [graph.groups[i] for i in members]
            continue
        run: list[Group] = []
        for index in members:
            group = graph.groups[index]
            if run and run[0].device != group.device:
                groups.append(best_width(merged(run), service))
                run = []
            run.append(group)
        groups.append(best_width(merged(run), service))
    return GroupGraph(graph.problem, groups)


def best_width(group: Group, service: ServiceTimes) -> Group:
    """The group at the width that runs it fastest, the narrowest on a tie."""
    widths = service.widths(group.device)
    width = min(widths, key=lambda w: (service.group_ns(group.tasks, group.device, w), w))
    return Group(group.tasks, group.device, width)
