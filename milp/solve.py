"""Finds the best placement and order, and proves how good it is."""

from __future__ import annotations

from dataclasses import replace

from surplus.milp.chain import Chain
from surplus.milp.fold import fold
from surplus.milp.folded_chain import improve_folded
from surplus.milp.footprint import FOLDING_BYTES
from surplus.milp.params import Listener, SolveParams
from surplus.milp.result import Result
from surplus.milp.search import Search
from surplus.milp.series import series_blocks
from surplus.milp.solvers import choose_solver
from surplus.placement import Problem
from surplus.placement.memory_words import bytes_in_words
from surplus.placement.process_memory import resident_bytes


def solve(
    problem: Problem,
    params: SolveParams | None = None,
    listener: Listener = lambda progress: None,
) -> Result:
    """Minimise the makespan of one query.

    Ctrl-C ends the search early and returns what is known. The result is never worse than the
    warm start or the plan of any policy that there was time to ask, by simulation.

    Parameters
    ----------
    listener : callable
        Told of each better plan and bound, as ``Result.history`` has them.

    Raises
    ------
    ValueError
        If the solver is unknown, the warm start does not fit the problem, or the memory limit is
        used up before anything was done.
    SolverUnavailableError
        If the solver is not installed.
    ContradictionError
        If a bound is above a plan: a fault of a bound, of the solver or of the model.
    """
    params = params or SolveParams()
    params = replace(params, solver=choose_solver(params.solver))
    search = Search(problem, params, listener)
    if search.memory.left_bytes <= 0:
        raise ValueError(
            f"memory limit {bytes_in_words(params.memory_bytes or 0)}: this process holds"
            f" {bytes_in_words(resident_bytes())} already"
        )
    try:
        search.prepare()
        _improve(problem, params, search)
    except KeyboardInterrupt:
        search.message = "interrupted"
    search.settle()
    return search.result()


def _improve(problem: Problem, params: SolveParams, search: Search) -> None:
    """In series where there are cuts, or were but for what hangs beside; else as a whole."""
    if search.proven():
        return
    if search.has_room("folding", FOLDING_BYTES):
        folded = fold(problem, search.standing.bound_ns)
        if folded is not None:
            improve_folded(problem, folded, params, search)
    blocks = series_blocks(problem)
    if len(blocks) > 1:
        Chain(problem, blocks, params).improve(search)
    else:
        search.run()
