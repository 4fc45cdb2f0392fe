"""The chain of a folded problem: its bound holds for the whole, and its plan becomes one."""

from __future__ import annotations

from dataclasses import replace

from surplus.milp.chain import Chain
from surplus.milp.fold import Folded
from surplus.milp.incumbent import Incumbent, make_incumbent
from surplus.milp.params import Progress, SolveParams
from surplus.milp.search import Search
from surplus.milp.series import series_blocks
from surplus.placement import Problem, SpanKind

SHARE = 0.8
"""Of the time; the rest is for the whole, whose bound the folded problem cannot reach."""


def improve_folded(problem: Problem, folded: Folded, params: SolveParams, search: Search) -> None:
    """Raise the bound of the whole and offer plans of it, by way of the folded problem."""
    best = search.standing.best
    deadline = search.deadline.part(SHARE)

    def learned(progress: Progress) -> None:
        search.standing.raise_bound(progress.bound_ns)
        _complete(problem, folded, inner, search)

    limit_s = max(deadline.left_s, 1e-3)
    inner = Search(folded.problem, replace(params, time_limit_s=limit_s), learned)
    if best is not None:
        inner.offer(_folded_plan(folded, best))
    blocks = series_blocks(folded.problem)
    try:
        Chain(folded.problem, blocks, params).improve(inner)
    finally:
        search.message, search.proof = inner.message, inner.proof


def _complete(problem: Problem, folded: Folded, inner: Search, search: Search) -> None:
    """Make a plan of the folded problem that is shorter than any of the whole one of the whole."""
    found, best = inner.standing.best, search.standing.best
    if found is not None and best is not None and found.makespan_ns < best.makespan_ns:
        search.offer(_whole_plan(problem, folded, found, best))


def _folded_plan(folded: Folded, found: Incumbent) -> Incumbent:
    starts, widths = _starts(found), found.width_of
    return make_incumbent(
        folded.problem,
        [found.placement.device_of[task] for task in folded.tasks],
        [starts[task] for task in folded.tasks],
        found.placement.policy,
        width_of={i: widths[t] for i, t in enumerate(folded.tasks) if t in widths},
    )


def _whole_plan(problem: Problem, folded: Folded, found: Incumbent, other: Incumbent) -> Incumbent:
    """What was folded runs where it does in another plan, as soon as what it waits for is done."""
    device_of, widths = list(other.placement.device_of), other.width_of
    widths |= {folded.tasks[i]: width for i, width in found.width_of.items()}
    planned = _starts(found)
    known = {task: index for index, task in enumerate(folded.tasks)}
    starts = [0.0] * len(problem.tasks)
    for task in range(len(problem.tasks)):
        if task in known:
            device_of[task] = found.placement.device_of[known[task]]
            starts[task] = planned[known[task]]
        else:
            starts[task] = max((starts[before] for before in problem.predecessors[task]), default=0)
    return make_incumbent(problem, device_of, starts, found.placement.policy, width_of=widths)


def _starts(found: Incumbent) -> list[float]:
    starts = [0.0] * len(found.placement.device_of)
    for span in found.timeline:
        if span.kind is SpanKind.TASK:
            starts[span.index] = span.start_ns
    return starts
