"""One block, asked about for some devices of its cuts, in slices of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surplus.milp.block_plan import BlockPlan, incumbent_of, plan_of_block
from surplus.milp.chain_costs import Edge
from surplus.milp.deadline import Deadline
from surplus.milp.params import SolveParams
from surplus.milp.search import Search
from surplus.milp.series import SeriesBlock, block_problem
from surplus.milp.solvers.process import AskSolver
from surplus.milp.starts import SMALL_TASKS, block_incumbent
from surplus.placement import Problem

_FIRST_SLICE_S = 5.0
_GROWTH = 4.0

_CLIMBS = 2
"""Asked so often for plans and proofs, it is asked every other time for a bound alone: what CP-SAT
has not proven by then it seldom does, and its bound stands still; one from below rises slowly, but
on and on (a block of 89 tasks of SSD in 30 s: 3.7 % became 1.9)."""

_EARLY = 0.5
"""Of its slice: who stops before has nothing more to say."""


class BlockQuestion:
    """What is the best schedule of a block whose cuts run on any of some devices?

    What bounds it bounds each pair of these devices; what plan it finds is one of a single pair.

    Parameters
    ----------
    whole, block
        The problem and its part.
    number : int
        The block's.
    edges : frozenset of Edge
        Of the block, from each of some first devices to each of some last ones.
    params : SolveParams
        Solver and gap.
    ask : AskSolver
        Runs the solver.
    """

    def __init__(
        self,
        whole: Problem,
        block: SeriesBlock,
        number: int,
        edges: frozenset[Edge],
        params: SolveParams,
        ask: AskSolver,
    ) -> None:
        self.number = number
        self.edges = edges
        self.is_small = len(block.tasks) <= SMALL_TASKS
        self.threads = 1
        self.tries = 0
        self.is_stuck = False
        self._block = block
        firsts = {first for _, first, _ in edges if first is not None}
        lasts = {last for _, _, last in edges if last is not None}
        self._problem = block_problem(whole, block, firsts, lasts)
        self.search = Search(self._problem, replace(params, warm_start=None), ask=ask)

    def slice_s(self) -> float:
        """How long it may be asked the next time."""
        return _FIRST_SLICE_S * _GROWTH**self.tries

    def run(
        self, deadline: Deadline, known: BlockPlan | None, tensor_of: Mapping[str, int]
    ) -> None:
        """Ask the solver on ``threads`` until a deadline.

        Parameters
        ----------
        known : BlockPlan or None
            A plan for one of its edges.
        """
        start = None
        if known is not None:
            start = incumbent_of(self._problem, self._block, known, tensor_of)
        if self.tries == 0:
            start = block_incumbent(self._problem, deadline, start)
        self.search.offer(start)
        left_s = deadline.left_s
        climbs = self.tries >= _CLIMBS and (self.tries - _CLIMBS) % 2 == 0
        self.search.run(deadline, self.threads, climbs=climbs)
        self.tries += 1
        early = deadline.left_s > (1 - _EARLY) * left_s
        self.is_stuck = early and not self.search.proven()

    def found(self, tensor_of: Mapping[str, int]) -> tuple[Edge, BlockPlan] | None:
        """The best plan so far, and the edge that it is of."""
        best = self.search.standing.best
        if best is None:
            return None
        plan = plan_of_block(self._problem, self._block, best, tensor_of)
        first, last = (
            None if cut is None else plan.device_of[cut]
            for cut in (self._block.first, self._block.last)
        )
        return (self.number, first, last), plan
