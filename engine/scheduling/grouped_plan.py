"""A plan whose segments are in groups, which policies run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.plan import Plan, Segment


@dataclass(frozen=True)
class GroupedPlan:
    """A plan with its segments in the order in which they run, and the group of each.

    Parameters
    ----------
    groups : tuple of int
        By segment; ascending from 0, none is left out.
    """

    plan: Plan
    groups: tuple[int, ...]

    @property
    def count(self) -> int:
        """Groups."""
        return self.groups[-1] + 1

    @property
    def tasks(self) -> tuple[int, ...]:
        """All of the graph's tasks in the order in which they run."""
        return tuple(task for segment in self.plan.segments for task in segment.tasks)

    def first_task(self, group: int) -> int:
        """The one with which a group begins."""
        return self.plan.segments[self.groups.index(group)].tasks[0]


def one_group(plan: Plan) -> GroupedPlan:
    """The plan as it is: a query does not rest."""
    ranked = tuple(sorted(plan.segments, key=lambda segment: segment.rank))
    return GroupedPlan(replace(plan, segments=ranked), (0,) * len(ranked))


def cut_at(graph: Graph, plan: Plan, places: Sequence[tuple[int, int]]) -> GroupedPlan:
    """The plan cut between groups, through its segments where need be.

    Copies are left to whoever puts it on a machine.

    Parameters
    ----------
    places : sequence of (int, int)
        First place and end of each group among the tasks in the order in which they run.
    """
    uncut = one_group(plan)
    if len(places) == 1:
        return uncut
    tasks = uncut.tasks
    of = [index for index, s in enumerate(uncut.plan.segments) for _ in s.tasks]
    segments: list[Segment] = []
    groups: list[int] = []
    for group, (first, end) in enumerate(places):
        rows = zip(tasks[first:end], of[first:end], strict=True)
        for index, own in groupby(rows, key=lambda row: row[1]):
            piece = tuple(task for task, _ in own)
            segments.append(_piece(graph, uncut.plan.segments[index], piece, len(segments)))
            groups.append(group)
    return GroupedPlan(replace(plan, segments=tuple(segments), copies=()), tuple(groups))


def _piece(graph: Graph, segment: Segment, tasks: tuple[int, ...], rank: int) -> Segment:
    """Some of a segment's tasks; a Concat that others did in part is done where it is."""
    more = len(tasks) - 1
    return replace(
        segment,
        name=f"{graph.tasks[tasks[0]].name}{f' +{more}' if more else ''}",
        tasks=tasks,
        inputs=tuple(boundary_inputs(graph, tasks)),
        outputs=tuple(boundary_outputs(graph, tasks)),
        rank=rank,
        joins=(),
    )
