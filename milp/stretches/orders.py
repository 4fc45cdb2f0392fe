"""A plan as a graph: who follows whom on lanes and links and by data, and how long it goes on then.

Whatever keeps to a plan's devices, widths and orders is a way through this graph. So a part of the
plan that ends earlier makes all of it shorter by as much as every way through allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from surplus.milp.copies import LinkCopy, link_of
from surplus.milp.incumbent import Incumbent
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind
from surplus.placement.topological_ranks import topological_ranks

Node = int | LinkCopy
"""A task or a copy."""


@dataclass(frozen=True)
class PlanStep:
    """That one task or copy begins at least so many ns after another began."""

    first: Node
    then: Node
    lag_ns: int


class PlannedOrders:
    """The orders that a plan has.

    Parameters
    ----------
    problem : Problem
        One that ``is_planned_exactly``: nothing but lanes, links and data makes anything wait.
    found : Incumbent
        The plan.

    Attributes
    ----------
    spans : dict of Node to Span
        When each task runs, and each copy is under way.
    """

    def __init__(self, problem: Problem, found: Incumbent) -> None:
        self.problem = problem
        self.found = found
        self.spans: dict[Node, Span] = {}
        for span in found.timeline:
            if span.kind is SpanKind.COPY:
                link = problem.links_by_name[span.resource]
                self.spans[LinkCopy(span.index, link.source, link.target)] = span
            else:
                self.spans[span.index] = span

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All tasks as they start, none before what it reads from."""
        ranks = topological_ranks(self.problem, self._times)
        return tuple(sorted(range(len(ranks)), key=ranks.__getitem__))

    @cached_property
    def rank(self) -> dict[int, int]:
        """Place of each task in ``order``."""
        return {task: place for place, task in enumerate(self.order)}

    @cached_property
    def on_lanes(self) -> dict[tuple[str, int], list[int]]:
        """The tasks of each lane, by device and lane, in their order."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for task in self.order:
            for lane in self.spans[task].lanes:
                found[self.spans[task].resource, lane].append(task)
        return found

    @cached_property
    def on_links(self) -> dict[str, list[LinkCopy]]:
        """The copies of each link in their order."""
        found: dict[str, list[LinkCopy]] = defaultdict(list)
        copies = (copy for row in self.copies.values() for copy in row)
        for copy in sorted(copies, key=self._copy_key):
            found[self.spans[copy].resource].append(copy)
        return found

    @cached_property
    def copies(self) -> dict[int, list[LinkCopy]]:
        """The copies of each tensor that has any."""
        found: dict[int, list[LinkCopy]] = defaultdict(list)
        for node in self.spans:
            if isinstance(node, LinkCopy):
                found[node.tensor].append(node)
        return found

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """Everything that makes anything wait."""
        return (*self._lane_steps(), *self._link_steps(), *self._data_steps())

    @cached_property
    def rest_ns(self) -> dict[Node, int]:
        """From the start of each task and copy to the end of the query, at least."""
        rest = {node: self.end_after_ns(node) for node in self.spans}
        before: dict[Node, list[PlanStep]] = defaultdict(list)
        waiting = dict.fromkeys(self.spans, 0)
        for step in self.steps:
            before[step.then].append(step)
            waiting[step.first] += 1
        ready = [node for node, count in waiting.items() if count == 0]
        for node in ready:  # which grows
            for step in before[node]:
                rest[step.first] = max(rest[step.first], step.lag_ns + rest[node])
                waiting[step.first] -= 1
                if waiting[step.first] == 0:
                    ready.append(step.first)
        assert len(ready) == len(rest), "a plan's orders have no cycle"
        return rest

    def hold_ns(self, copy: LinkCopy) -> int:
        """How long a copy holds its link."""
        return link_of(self.problem, copy).hold_ns(self.problem.tensors[copy.tensor].size_bytes)

    def home(self, tensor: int) -> str:
        """The memory in which a tensor is made, or given."""
        producer = self.problem.tensors[tensor].producer
        device = self.found.placement.device_of[producer] if producer >= 0 else 0
        return self.problem.devices[device].memory

    def memory(self, task: int) -> str:
        """The memory that a task works in."""
        return self.problem.devices[self.found.placement.device_of[task]].memory

    def end_after_ns(self, node: Node) -> int:
        """How long a task runs, or a copy is under way."""
        return self.spans[node].duration_ns

    def _times(self, task: int) -> tuple[int, int]:
        return self.spans[task].start_ns, self.spans[task].end_ns

    def _copy_key(self, copy: LinkCopy) -> tuple[int, int, LinkCopy]:
        """Of two that start at once the one that was made first is first."""
        producer = self.problem.tensors[copy.tensor].producer
        return self.spans[copy].start_ns, self.rank.get(producer, -1), copy

    def _lane_steps(self) -> Iterator[PlanStep]:
        for row in self.on_lanes.values():
            for first, then in pairwise(row):
                yield PlanStep(first, then, self.end_after_ns(first))

    def _link_steps(self) -> Iterator[PlanStep]:
        for row in self.on_links.values():
            for first, then in pairwise(row):
                yield PlanStep(first, then, self.hold_ns(first))

    def _data_steps(self) -> Iterator[PlanStep]:
        for index, tensor in enumerate(self.problem.tensors):
            home, maker = self.home(index), tensor.producer
            there: dict[str, Node] = {} if maker < 0 else {home: maker}
            for copy in self.copies.get(index, ()):
                there[copy.target] = copy
                if maker >= 0:
                    yield PlanStep(maker, copy, self.end_after_ns(maker))
            for reader in tensor.consumers:
                source = there.get(home if tensor.size_bytes == 0 else self.memory(reader))
                if source is not None:
                    yield PlanStep(source, reader, self.end_after_ns(source))
