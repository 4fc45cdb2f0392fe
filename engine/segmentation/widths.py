"""Chooses between width and parallelism, region by region.

Heavy linear phases want all lanes of a CPU at once, wide phases one lane per branch. Between
two serial groups lies a region whose inside no other region overlaps, so each can be decided on
its own: run its groups side by side, or collapse it into one segment that has all lanes.

A region may be nearly the whole model (a detector's backbone feeds its pyramid from the middle),
so its heavy groups are then looked at one by one: the simulator says whether all lanes for a
group gain more than running beside the others.

Where a placement says how wide tasks run, groups are joined in the same way, but only with others
of their width, and none gets another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from surplus.engine.segmentation.coarse import coarse_problem, predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup, merged
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.simulator import simulate

_HEAVIEST = 8
"""How many groups of parallel regions may be widened; a simulation each."""


@dataclass(frozen=True)
class _Joining:
    """Which groups may be joined, and how wide what comes of it is.

    Parameters
    ----------
    is_planned : bool
        Whether the groups' widths are a placement's, and stay.
    """

    service: ServiceTimes
    is_planned: bool

    def place_of(self, group: TaskGroup) -> tuple[int, int]:
        """The device, and the width if that is planned: what all have in common."""
        return group.device, group.width if self.is_planned else 0

    def one_of(self, groups: Sequence[TaskGroup]) -> TaskGroup:
        """All in one, at the width that is planned, or the fastest one."""
        one = merged(groups, groups[0].width)
        return one if self.is_planned else best_width(one, self.service)


def choose_widths(
    graph: GroupGraph, service: ServiceTimes, *, is_planned: bool = False
) -> GroupGraph:
    """Collapse regions that gain nothing from parallelism, merge serial neighbours, widen.

    Neighbours of which a GPU captures some stay apart where their segment would not be captured,
    unless they are so small that submitting them on their own takes longer.

    Parameters
    ----------
    is_planned : bool
        Whether the groups' widths are a placement's, and stay.
    """
    joining = _Joining(service, is_planned)
    groups: list[TaskGroup] = []
    for serial, members in graph.stretches():
        if serial:
            groups += [graph.groups[i] for i in members]
        else:
            groups += _decide(graph, members, joining)
    joined = _merge_serial(GroupGraph(graph.problem, groups), joining)
    return joined if is_planned else _widen(joined, service)


def _decide(graph: GroupGraph, members: Sequence[int], joining: _Joining) -> list[TaskGroup]:
    groups, service = [graph.groups[i] for i in members], joining.service
    if len(set(map(joining.place_of, groups))) > 1:
        return groups
    one = joining.one_of(groups)
    side_by_side = simulate(*coarse_problem(graph, service, members)).makespan_ns
    return [one] if service.of_group(one) <= side_by_side else groups


def _merge_serial(graph: GroupGraph, joining: _Joining) -> GroupGraph:
    groups: list[TaskGroup] = []
    for serial, members in graph.stretches():
        stretch = [graph.groups[i] for i in members]
        if not serial:
            groups += stretch
            continue
        for _, run in groupby(stretch, key=joining.place_of):
            groups += _merge_run(list(run), joining)
    return GroupGraph(graph.problem, groups)


def _merge_run(run: Sequence[TaskGroup], joining: _Joining) -> list[TaskGroup]:
    """Serial groups of one device as one, but for where that costs more capture than it saves."""
    service = joining.service

    def captured(group: TaskGroup) -> bool:
        return service.may_be_captured(group.tasks, group.device)

    found: list[TaskGroup] = []
    for _, alike in groupby(run, key=captured):
        part = joining.one_of(list(alike))
        if found:
            one = joining.one_of([found[-1], part])
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
