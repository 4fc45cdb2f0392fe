"""Solves a series of blocks: a shortest path over the devices of the cuts between them.

An edge of the path is one block between two devices. It costs a lower bound at first and the
solver's bound once it was solved. Only edges on the currently shortest path are solved, until
all of that path's are: then it is the optimum, as far as its blocks were solved to optimality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from surplus.milp.copies import LinkCopy
from surplus.milp.incumbent import make_incumbent
from surplus.milp.params import SolveParams
from surplus.milp.result import Result, Status
from surplus.milp.search import Search, combinatorial_bound_ns
from surplus.milp.series import SeriesBlock, block_problem
from surplus.milp.windows import eligible_devices
from surplus.placement import Problem, SpanKind

Edge = tuple[int, int | None, int | None]
"""Number of the block, and the devices of its first and its last cut."""


@dataclass
class _Cost:
    """What is known of an edge."""

    problem: Problem
    bound_ns: int
    result: Result | None = None


class Chain:
    """The blocks of one problem.

    Parameters
    ----------
    problem : Problem
        The whole, without memory limits.
    blocks : list of SeriesBlock
        In the order in which they run.
    params : SolveParams
        The time limit is for all blocks together.
    """

    def __init__(self, problem: Problem, blocks: list[SeriesBlock], params: SolveParams) -> None:
        self._problem = problem
        self._blocks = blocks
        self._params = params
        self._devices = eligible_devices(problem)
        self._tensor_of = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
        self._costs = {edge: self._unsolved(edge) for edge in self._edges()}

    def improve(self, search: Search) -> None:
        """Raise the bound and offer plans until the gap is closed or time is up."""
        while True:
            path = self._shortest(lambda cost: cost.bound_ns)
            search.raise_bound(sum(self._costs[edge].bound_ns for edge in path))
            todo = [edge for edge in path if self._costs[edge].result is None]
            if all(self._is_solved(edge) for edge in path):
                search.message = "the blocks are solved, but no plan as short as they are is known"
            left_s = search.ends_s - monotonic()
            if search.proven() or not todo or left_s <= 0:
                return
            # Small blocks first: what they leave over is for the large ones.
            edge = min(todo, key=lambda e: len(self._blocks[e[0]].tasks))
            self._solve(edge, left_s / len(todo), search)
            self._offer(search)

    def _edges(self) -> Iterator[Edge]:
        for number, block in enumerate(self._blocks):
            for first in self._choices(block.first):
                for last in self._choices(block.last):
                    yield number, first, last

    def _choices(self, cut: int | None) -> tuple[int | None, ...]:
        return (None,) if cut is None else self._devices[cut]

    def _unsolved(self, edge: Edge) -> _Cost:
        number, first, last = edge
        problem = block_problem(self._problem, self._blocks[number], first, last)
        return _Cost(problem, combinatorial_bound_ns(problem))

    def _solve(self, edge: Edge, time_limit_s: float, search: Search) -> None:
        cost = self._costs[edge]
        block = Search(
            cost.problem, replace(self._params, time_limit_s=time_limit_s, warm_start=None)
        )
        try:
            block.run()
        finally:
            cost.result = block.result()
            cost.bound_ns = max(cost.bound_ns, cost.result.bound_ns)
        count = len(self._blocks)
        search.proof = f"{count} blocks in series, proven by {self._params.solver}"
        if cost.result.status is not Status.OPTIMAL:
            search.message = f"block {edge[0] + 1} of {count}: {block.message}"

    def _is_solved(self, edge: Edge) -> bool:
        result = self._costs[edge].result
        return result is not None and result.status is Status.OPTIMAL

    def _shortest(self, length: Callable[[_Cost], float]) -> list[Edge]:
        """The path from the first block to the last with the least sum of lengths."""
        reached: dict[int | None, tuple[float, list[Edge]]] = {None: (0, [])}
        for number in range(len(self._blocks)):
            nearest: dict[int | None, tuple[float, list[Edge]]] = {}
            for edge in (e for e in self._costs if e[0] == number):
                far, path = reached[edge[1]]
                far += length(self._costs[edge])
                if edge[2] not in nearest or far < nearest[edge[2]][0]:
                    nearest[edge[2]] = (far, [*path, edge])
            reached = nearest
        return reached[None][1]

    def _offer(self, search: Search) -> None:
        """Join the blocks' best plans, if there is a path of solved blocks."""
        path = self._shortest(lambda cost: inf if cost.result is None else _makespan(cost.result))
        results = [self._costs[edge].result for edge in path]
        device_of = [0] * len(self._problem.tasks)
        starts = [0.0] * len(self._problem.tasks)
        copies: dict[LinkCopy, float] = {}
        begin = 0
        for edge, result in zip(path, results, strict=True):
            if result is None or result.timeline is None or result.placement is None:
                return
            block = self._blocks[edge[0]]
            for span in result.timeline:
                if span.kind is SpanKind.COPY:
                    link = self._problem.links_by_name[span.resource]
                    copy = LinkCopy(self._tensor_of[span.name], link.source, link.target)
                    copies[copy] = begin + span.start_ns
                elif block.tasks[span.index] != block.first:
                    device_of[block.tasks[span.index]] = result.placement.device_of[span.index]
                    starts[block.tasks[span.index]] = begin + span.start_ns
            begin += _makespan(result)
        search.offer(make_incumbent(self._problem, device_of, starts, self._params.solver, copies))


def _makespan(result: Result) -> int:
    assert result.makespan_ns is not None, "blocks have no memory limits, so a plan exists"
    return result.makespan_ns
