"""The graph of groups: sets of tasks that will become segments.

A group is *serial* if it is comparable with every other group: while it runs, nothing else of
the same query can, so it may have all lanes of its device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from surplus.engine.dfg.topological import topological_order
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class TaskGroup:
    """Tasks (ascending) of one device that run as one segment of ``width`` lanes."""

    tasks: tuple[int, ...]
    device: int
    width: int = 1


class GroupGraph:
    """Groups in a topological order with the edges between them.

    Parameters
    ----------
    planned : Placement, optional
        Whose order and holds are to be kept, where each task is a group of its own.

    Raises
    ------
    ValueError
        If a task is in no group or in two, or the groups form a cycle.
    """

    def __init__(
        self, problem: Problem, groups: Iterable[TaskGroup], planned: Placement | None = None
    ) -> None:
        self.problem = problem
        self.planned = planned
        unordered = sorted(groups, key=lambda group: group.tasks[0])
        group_of = _group_of(problem, unordered)
        before: list[set[int]] = [set() for _ in unordered]
        for task, others in enumerate(problem.predecessors):
            before[group_of[task]].update(group_of[o] for o in others)
        for index, row in enumerate(before):
            row.discard(index)
        order = topological_order(before)
        if len(order) < len(unordered):
            raise ValueError("the groups form a cycle")
        rank = {old: new for new, old in enumerate(order)}
        self.groups: tuple[TaskGroup, ...] = tuple(unordered[old] for old in order)
        self.predecessors: tuple[tuple[int, ...], ...] = tuple(
            tuple(sorted(rank[o] for o in before[old])) for old in order
        )

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """Bit set of the groups that come before each group."""
        rows: list[int] = []
        for before in self.predecessors:
            bits = 0
            for other in before:
                bits |= rows[other] | (1 << other)
            rows.append(bits)
        return tuple(rows)

    @cached_property
    def serial(self) -> tuple[bool, ...]:
        """Whether each group is comparable with every other one; linear in groups and edges.

        In a topological order every group up to this one leads to it if and only if each of those
        before it leads to another one up to here: this one is then the only end among them. In
        the same way it leads to every later one if each of these has an input from here on.
        """
        count = len(self.groups)
        first_reader = [count] * count
        for index in reversed(range(count)):
            for other in self.predecessors[index]:
                first_reader[other] = index
        last_maker = [max(before, default=-1) for before in self.predecessors]
        from_the_end = [count - 1 - maker for maker in reversed(last_maker)]
        above, below = _only_ends(first_reader), reversed(_only_ends(from_the_end))
        return tuple(a and b for a, b in zip(above, below, strict=True))

    def with_group(self, index: int, group: TaskGroup) -> GroupGraph:
        """The same graph with one group replaced by another of the same tasks."""
        groups = list(self.groups)
        groups[index] = group
        return GroupGraph(self.problem, groups)

    def stretches(self) -> list[tuple[bool, tuple[int, ...]]]:
        """Maximal runs of serial groups, and the parallel regions between them, in order.

        A serial group separates everything before it from everything after it, so in any
        topological order the groups between two of them form one region.
        """
        found: list[tuple[bool, list[int]]] = []
        for index, serial in enumerate(self.serial):
            if found and found[-1][0] == serial:
                found[-1][1].append(index)
            else:
                found.append((serial, [index]))
        return [(serial, tuple(row)) for serial, row in found]


def merged(groups: Sequence[TaskGroup], width: int = 1) -> TaskGroup:
    """One group of all tasks of ``groups``, which share a device."""
    tasks = sorted(task for group in groups for task in group.tasks)
    return TaskGroup(tuple(tasks), groups[0].device, width)


def crossing(problem: Problem, tasks: Sequence[int]) -> int:
    """How many tensors ``tasks`` as one segment take over and hand on.

    What only one Concat elsewhere reads counts once for that Concat: a segment joins such tensors
    itself where they are neighbours (joins.py).
    """
    inside = set(tasks)
    found: set[tuple[str, int]] = set()
    for task in tasks:
        for index in problem.inputs_of[task]:
            if problem.tensors[index].producer not in inside:
                found.add(("tensor", index))
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            if tensor.is_output or not inside.issuperset(tensor.consumers):
                found.add(_handed_on(problem, index))
    return len(found)


def _only_ends(first_reader: Sequence[int]) -> list[bool]:
    """Whether each of the earlier items leads to another one up to here, by item."""
    found, latest = [], 0
    for index, reader in enumerate(first_reader):
        found.append(latest <= index)
        latest = max(latest, reader)
    return found


def _handed_on(problem: Problem, index: int) -> tuple[str, int]:
    tensor = problem.tensors[index]
    if len(tensor.consumers) == 1 and not tensor.is_output:
        (reader,) = tensor.consumers
        if problem.tasks[reader].kind == "Concat":
            return "join", reader
    return "tensor", index


def _group_of(problem: Problem, groups: Sequence[TaskGroup]) -> list[int]:
    group_of = [-1] * len(problem.tasks)
    for index, group in enumerate(groups):
        for task in group.tasks:
            if group_of[task] >= 0:
                raise ValueError(f"task {problem.tasks[task].name!r} is in two groups")
            group_of[task] = index
    if -1 in group_of:
        raise ValueError(f"task {problem.tasks[group_of.index(-1)].name!r} is in no group")
    return group_of
