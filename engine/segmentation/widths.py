"""Chooses between width and parallelism, region by region.

Heavy linear phases want all lanes of a CPU at once, wide phases one lane per branch. Between
two serial groups lies a region whose inside no other region overlaps, so each can be decided on
its own: run its groups side by side, or collapse it into one segment that has all lanes.

A region may be nearly the whole model (a detector's backbone feeds its pyramid from the middle),
so its heavy groups are then looked at one by one: the simulator says whether all lanes for a
group gain more than running beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from surplus.engine.segmentation.coarse import coarse_problem, predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup, merged
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.simulator import simulate

_HEAVIEST = 8
"""How many groups of parallel regions may be widened; a simulation each."""


def choose_widths(graph: GroupGraph, service: ServiceTimes) -> GroupGraph:
    """Collapse regions that gain nothing from parallelism, merge serial neighbours, widen.

    Neighbours of which a GPU captures some stay apart where their segment would not be captured,
    unless they are so small that submitting them on their own takes longer.
    """
    groups: list[TaskGroup] = []
    for serial, members in graph.stretches():
        if serial:
            groups += [graph.groups[i] for i in members]
        else:
            groups += _decide(graph, members, service)
    decided = GroupGraph(graph.problem, groups)
    return _widen(_merge_serial(decided, service), service)


def _decide(graph: GroupGraph, members: Sequence[int], service: ServiceTimes) -> list[TaskGroup]:
    groups = [graph.groups[i] for i in members]
    if len({group.device for group in groups}) > 1:
        return groups
    one = best_width(merged(groups), service)
    side_by_side = simulate(*coarse_problem(graph, service, members)).makespan_ns
    return [one] if service.of_group(one) <= side_by_side else groups


def _merge_serial(graph: GroupGraph, service: ServiceTimes) -> GroupGraph:
    groups: list[TaskGroup] = []
    for serial, members in graph.stretches():
        stretch = [graph.groups[i] for i in members]
        if not serial:
            groups += stretch
            continue
        for _, run in groupby(stretch, key=lambda group: group.device):
            groups += _merge_run(list(run), service)
    return GroupGraph(graph.problem, groups)


def _merge_run(run: Sequence[TaskGroup], service: ServiceTimes) -> list[TaskGroup]:
    """Serial groups of one device as one, but for where that costs more capture than it saves."""

    def captured(group: TaskGroup) -> bool:
        return service.is_captured(group.tasks, group.device)

    found: list[TaskGroup] = []
    for _, alike in groupby(run, key=captured):
        part = best_width(merged(list(alike)), service)
        if found:
            one = best_width(merged([found[-1], part]), service)
            if service.hold_ns(one) <= service.hold_ns(found[-1]) + service.hold_ns(part):
                found[-1] = one
                continue
        found.append(part)
    return found


def _widen(graph: GroupGraph, service: ServiceTimes) -> GroupGraph:
    """Give heavy groups of parallel regions more lanes where the whole plan gains from it."""
    gains = {
        index: service.of_group(group) - service.of_group(best_width(group, service))
        for index, (group, serial) in enumerate(zip(graph.groups, graph.serial, strict=True))
        if not serial
    }
    worth = sorted((i for i in gains if gains[i] > 0), key=lambda i: -gains[i])[:_HEAVIEST]
    if not worth:
        return graph
    shortest_ns = predict(graph, service).makespan_ns
    for index in worth:
        wide = best_width(graph.groups[index], service)
        changed = graph.with_group(index, wide)
        makespan_ns = predict(changed, service).makespan_ns
        if makespan_ns < shortest_ns:
            graph, shortest_ns = changed, makespan_ns
    return graph


def best_width(group: TaskGroup, service: ServiceTimes) -> TaskGroup:
    """The group at the width that runs it fastest, the narrowest on a tie."""
    widths = service.widths(group.device)
    return min(
        (replace(group, width=width) for width in widths),
        key=lambda g: (service.of_group(g), g.width),
    )
