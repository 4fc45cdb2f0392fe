"""What is known of the blocks between each two devices of their cuts, and the best way through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from surplus.milp.block_plan import BlockPlan
from surplus.milp.standing import PROVEN_GAP
from surplus.placement import check_bound

Cut = int | None
"""Device of a cut; None at the beginning and at the end of the problem."""

Edge = tuple[int, Cut, Cut]
"""Number of the block, and the devices of its first and its last cut."""


@dataclass
class EdgeCost:
    """What is known of an edge.

    Parameters
    ----------
    bound_ns : int
        No schedule of the block is shorter.
    plan : BlockPlan or None
        The best one.
    whose : str
        The block, for errors.
    """

    bound_ns: int = 0
    plan: BlockPlan | None = None
    whose: str = "block"

    def raise_bound(self, bound_ns: int) -> None:
        """Take note of a bound.

        Raises
        ------
        ContradictionError
            If the plan is shorter. Of the whole this need not show: other blocks may be longer
            than their bounds by more.
        """
        self.bound_ns = max(self.bound_ns, bound_ns)
        self._check()

    def keep(self, plan: BlockPlan) -> None:
        """Keep a plan if it is the best; errors as ``raise_bound``."""
        if plan.makespan_ns < self.makespan_ns:
            self.plan = plan
            self._check()

    def _check(self) -> None:
        if self.plan is not None:
            check_bound(self.bound_ns, self.plan.makespan_ns, self.whose)

    @property
    def makespan_ns(self) -> float:
        """Length of the plan, infinite without one."""
        return inf if self.plan is None else self.plan.makespan_ns

    @property
    def is_solved(self) -> bool:
        """Whether nothing is left to find out."""
        return self.makespan_ns - self.bound_ns <= PROVEN_GAP * self.bound_ns


Length = Callable[[EdgeCost], float]


class ChainCosts:
    """A layered graph: a layer of devices for each cut, and the blocks' edges between them.

    Parameters
    ----------
    choices : sequence of sequence of Cut
        Devices of each cut in order, with (None,) before the first block and after the last.
    """

    def __init__(self, choices: Sequence[Sequence[Cut]]) -> None:
        self._choices = choices
        self.block_count = len(choices) - 1
        self.costs = {e: EdgeCost(whose=f"block {e[0] + 1}") for e in self._all_edges()}

    def shortest(self, length: Length) -> tuple[float, list[Edge]]:
        """The path from the first block to the last with the least sum of lengths."""
        far: dict[Cut, float] = {None: 0.0}
        came: list[dict[Cut, Edge]] = []
        for number in range(self.block_count):
            far, edges = self._step(number, far, length)
            came.append(edges)
        path: list[Edge] = []
        last: Cut = None
        for edges in reversed(came):
            path.append(edges[last])
            last = edges[last][1]
        return far[None], path[::-1]

    def worth(self, upper_ns: int) -> set[Edge]:
        """Edges on some path whose bounds leave room for a plan shorter than ``upper_ns``."""
        before: list[dict[Cut, float]] = [{None: 0.0}]
        for number in range(self.block_count):
            before.append(self._step(number, before[-1], lambda cost: cost.bound_ns)[0])
        found: set[Edge] = set()
        after: dict[Cut, float] = {None: 0.0}
        for number in reversed(range(self.block_count)):
            nearer: dict[Cut, float] = {}
            for edge in self.edges(number):
                rest = self.costs[edge].bound_ns + after[edge[2]]
                nearer[edge[1]] = min(rest, nearer.get(edge[1], inf))
                if before[number][edge[1]] + rest < upper_ns:
                    found.add(edge)
            after = nearer
        return found

    def edges(self, number: int) -> Iterator[Edge]:
        """Edges of a block."""
        for first in self._choices[number]:
            for last in self._choices[number + 1]:
                yield number, first, last

    def _step(
        self, number: int, far: dict[Cut, float], length: Length
    ) -> tuple[dict[Cut, float], dict[Cut, Edge]]:
        """How far it is through one more block, and which edge to come by."""
        farther: dict[Cut, float] = {}
        edges: dict[Cut, Edge] = {}
        for edge in self.edges(number):
            way = far[edge[1]] + length(self.costs[edge])
            if edge[2] not in edges or way < farther[edge[2]]:
                farther[edge[2]], edges[edge[2]] = way, edge
        return farther, edges

    def _all_edges(self) -> Iterator[Edge]:
        for number in range(self.block_count):
            yield from self.edges(number)
