"""Better plans without a program of the whole: by annealing, and of the largest by stretches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from surplus.milp.deadline import Deadline
from surplus.milp.footprint import ANNEALING_BYTES, stretch_bytes
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.params import SolveParams
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.solvers.process import AskSolver
from surplus.milp.standing import Standing
from surplus.milp.starts import ANNEALING_SHARE, SMALL_TASKS, annealed_incumbent
from surplus.milp.stretches.search import SIZES, StretchParams, StretchSearch, has_stretches
from surplus.placement import Problem
from surplus.placement.memory import binding_capacities

_WALKING_SHARE = 0.65
"""Of the time for a problem that is too large for its solver, before that is asked about parts: a
plan that is far from good is faster mended by annealing."""

HasRoom = Callable[[str, int], bool]
"""Whether there is memory for what needs so many bytes."""


class PlanSearch:
    """Makes the best plan of a standing shorter.

    Parameters
    ----------
    problem, params
        What is asked.
    standing : Standing
        Takes what is found.
    memory : MemoryLimit
        What a solver's process may hold is a share of it.
    has_room : callable
        Asked before each step.
    ask : AskSolver, optional
        Who runs the solver; without one stretches have a process of their own.
    """

    def __init__(
        self,
        problem: Problem,
        params: SolveParams,
        standing: Standing,
        memory: MemoryLimit,
        has_room: HasRoom,
        ask: AskSolver | None = None,
    ) -> None:
        self._problem = problem
        self._params = params
        self._standing = standing
        self._memory = memory
        self._has_room = has_room
        self._ask = ask
        self._is_limited = bool(binding_capacities(problem))  # of which stretches know nothing
        self._walks = self._walked_in_vain = 0

    def improve(self, deadline: Deadline, threads: int, *, is_all: bool) -> None:
        """Look for shorter plans for some of the time, or all of it.

        Parameters
        ----------
        is_all : bool
            Whether nothing else is asked, as the problem is too large for that.
        """
        if self._standing.best is None or len(self._problem.tasks) <= SMALL_TASKS:
            return
        if not is_all:
            self._walk(deadline.part(ANNEALING_SHARE / 2**self._walked_in_vain), threads)
            return
        if not self._is_limited and has_stretches(self._params.solver, self._problem):
            self._walk(deadline.part(_WALKING_SHARE), threads)
            self._improve_stretches(deadline, threads)
        self._walk(deadline, threads)

    def _walk(self, deadline: Deadline, threads: int) -> None:
        best = self._standing.best
        assert best is not None
        if self._standing.proven() or not self._has_room("annealing", ANNEALING_BYTES * threads):
            return
        self._walks += 1
        found = annealed_incumbent(self._problem, best, deadline, threads, self._walks)
        self._standing.offer(found)
        self._walked_in_vain += self._standing.best is best

    def _improve_stretches(self, deadline: Deadline, threads: int) -> None:
        solver = self._params.solver
        if self._standing.proven():
            return
        if not self._has_room(
            f"{solver}'s program of a stretch", stretch_bytes(max(SIZES), threads)
        ):
            return
        memory_bytes = self._memory.share_bytes(threads / self._params.threads)
        with _process(self._ask) as ask:
            params = StretchParams(ask, threads, memory_bytes)
            StretchSearch(self._problem, self._standing, params).improve(deadline)


@contextmanager
def _process(ask: AskSolver | None) -> Iterator[AskSolver]:
    """Who was given, or one process for all questions: its start takes longer than an answer."""
    if ask is not None:
        yield ask
        return
    pool = SolverPool(1)
    try:
        yield pool.run
    finally:
        pool.close()
