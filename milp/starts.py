"""Known plans to start from: those of all policies, of single devices, by price, by annealing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from math import inf

from surplus import placement
from surplus.milp.annealing import Annealing, annealed
from surplus.milp.deadline import Deadline
from surplus.milp.footprint import plan_bytes
from surplus.milp.incumbent import Incumbent, best_of, fits_memory, make_incumbent
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.priced import priced_placement
from surplus.milp.reductions import fix_devices
from surplus.milp.windows import eligible_devices
from surplus.placement import Placement, Problem, SpanKind
from surplus.placement.evaluator import makespan_ns

_FIRST = ("auto", "heft", "single", "best")
"""Policies in the order in which they are worth their time; all others follow."""

_FEW_TASKS = 500
"""Up to so many, every policy is asked, and its plan timed in the planned order, too; above, those
that there is time for, and the best few."""

_DECODED = 3

_SEARCHES = ("anneal", "robust")
"""What takes as long as it is given, and is asked otherwise; what judges many samples of times."""

_FOR_THROUGHPUT = "balance"
"""Looks for something else, and takes minutes at 10,000 tasks."""

_SHARE, _LEAST_S = 0.2, 1.0
"""Of the time that is left, what policies may begin in; in a second they may anyhow."""

ANNEALING_SHARE = 0.3
"""Of the time for a problem, before its solver is asked."""

_LONGER = 4.0
"""By how much the next policy may well take longer than any before it."""

SMALL_TASKS = 40
"""Of blocks of up to so many a solver finds the best plan as fast as anything else."""


def known_incumbents(
    problem: Problem,
    warm_start: Placement | None = None,
    deadline: Deadline | None = None,
    memory: MemoryLimit | None = None,
) -> Iterator[Incumbent]:
    """Plans of the warm start, of policies and of every single device, if they fit.

    Parameters
    ----------
    deadline : Deadline, optional
        Without one every policy is asked.
    memory : MemoryLimit, optional
        When there is no room for a further plan the search for known ones ends.

    Raises
    ------
    ValueError
        If the warm start does not fit the problem.
    """
    if warm_start is not None:
        warm_start.check(problem)
    few = len(problem.tasks) <= _FEW_TASKS
    preparation = None if few else _preparation(deadline)
    placed = list(_candidates(problem, warm_start, preparation))
    placed.sort(key=lambda candidate: makespan_ns(problem, candidate))
    wanted = len(placed) if few else _DECODED
    for candidate in placed:
        fitting = [
            found
            for found in _decoded(problem, candidate)
            if fits_memory(problem, found.placement, found.timeline)
        ]
        yield from fitting
        wanted -= bool(fitting)
        if wanted <= 0 or (deadline is not None and deadline.is_over):
            return
        if memory is not None and memory.left_bytes < plan_bytes(problem):
            return


def block_incumbent(
    problem: Problem, deadline: Deadline, known: Incumbent | None
) -> Incumbent | None:
    """A plan for one block among many: what is known, or HEFT's, or by price."""
    heft = placement.make_policy("heft").place(problem)
    best = best_of([*([] if known is None else [known]), *_decoded(problem, heft)])
    if best is None or len(problem.tasks) <= SMALL_TASKS:
        return best
    devices = fix_devices(problem, best.makespan_ns).devices
    priced = priced_placement(problem, devices, deadline)
    return best if priced is None else best_of([best, *_decoded(problem, priced)])


def annealed_incumbent(
    problem: Problem, best: Incumbent, deadline: Deadline, threads: int, seed: int
) -> Incumbent | None:
    """What annealing makes of a plan until a deadline; at most as long."""
    placed = annealed(problem, best.placement, Annealing(deadline, threads, seed))
    if placed is None:
        return best
    found = _decoded(problem, placed)
    fitting = (one for one in found if fits_memory(problem, one.placement, one.timeline))
    return best_of([best, *fitting])


def _decoded(problem: Problem, placed: Placement) -> Iterator[Incumbent]:
    """A placement as the runtime dispatches it, and in the very order of its starts."""
    timeline = placement.simulate(problem, placed)
    starts = [0] * len(problem.tasks)
    for span in timeline:
        if span.kind is SpanKind.TASK:
            starts[span.index] = span.start_ns
    free = placed.without_holds()  # which are found anew for the plan that is the best
    dispatched_ns = timeline.makespan_ns if free == placed else makespan_ns(problem, free)
    yield Incumbent(free, timeline, dispatched_ns)
    widths = dict(enumerate(placed.width_of))
    yield make_incumbent(problem, placed.device_of, starts, placed.policy, width_of=widths)


def _preparation(deadline: Deadline | None) -> Deadline | None:
    """When no more policies are asked."""
    if deadline is None:
        return None
    now_s = deadline.ends_s - deadline.left_s
    return Deadline(now_s + max(_LEAST_S, _SHARE * deadline.left_s), deadline.clock)


def _candidates(
    problem: Problem, warm_start: Placement | None, deadline: Deadline | None
) -> Iterator[Placement]:
    if warm_start is not None:
        yield warm_start
    yield from _single_devices(problem)
    longest_s = 0.0
    for name in _policies(problem):
        left_s = inf if deadline is None else deadline.left_s
        if left_s <= _LONGER * longest_s:
            return
        with suppress(placement.InfeasibleError):
            yield placement.make_policy(name).place(problem)
        if deadline is not None:
            longest_s = max(longest_s, left_s - deadline.left_s)
    by_price = priced_placement(problem, eligible_devices(problem), deadline or Deadline(inf))
    if by_price is not None:
        yield by_price


def _policies(problem: Problem) -> list[str]:
    names = [name for name in placement.policy_names() if name not in _SEARCHES]
    if len(problem.tasks) > _FEW_TASKS:
        names.remove(_FOR_THROUGHPUT)
    return sorted(names, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))


def _single_devices(problem: Problem) -> Iterator[Placement]:
    order = tuple(range(len(problem.tasks)))
    for index, device in enumerate(problem.devices):
        chosen = tuple(
            index if task.service_ns[index] is not None else task.default_device
            for task in problem.tasks
        )
        yield Placement(chosen, order, f"all on {device.name}")
