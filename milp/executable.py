"""The best plan as a runtime executes it: with holds where it idles on purpose."""

from __future__ import annotations

from dataclasses import replace

from surplus import placement
from surplus.milp.deadline import Deadline
from surplus.milp.incumbent import Incumbent, fits_memory
from surplus.milp.left_out import is_planned_exactly
from surplus.milp.schedule import placement_of, schedule_in_order
from surplus.placement import Placement, Problem, Timeline, with_holds
from surplus.placement.evaluator import makespan_ns

LONGEST_S = 1.0
"""What looking for holds may take, after the search."""

_MOST_TASKS = 3_000
"""Up to so many they are looked for where the plan does not say that they help."""


def executable(problem: Problem, found: Incumbent) -> Incumbent:
    """The same plan with its holds, and what a runtime makes of it with and without them.

    Its timeline is what the runtime does: the planned one, or one that is earlier here and there.
    """
    free = replace(found, held_ns=found.dispatched_ns)
    orders = _orders(problem, found)
    if orders is None:
        return free
    deadline = Deadline.after(LONGEST_S)
    held = with_holds(problem, *orders, lambda: deadline.is_over)
    timeline = placement.simulate(problem, held)
    if timeline.makespan_ns >= found.dispatched_ns:
        return free
    is_kept = timeline.makespan_ns <= found.makespan_ns and fits_memory(problem, held, timeline)
    return Incumbent(
        held,
        timeline if is_kept else found.timeline,
        makespan_ns(problem, held.without_holds()),
        timeline.makespan_ns,
    )


def _orders(problem: Problem, found: Incumbent) -> tuple[Placement, Timeline] | None:
    """The orders that are to be kept, where the runtime by itself does not; None if it does."""
    if found.makespan_ns < found.dispatched_ns:
        return found.placement, found.timeline
    if is_planned_exactly(problem) or len(problem.tasks) > _MOST_TASKS:
        return None
    # The order alone is of use: submitting threads are known to the simulator only.
    placed = found.placement
    ranked = placement_of(problem, placed.device_of, placed.priority, placed.policy)
    planned = schedule_in_order(problem, ranked)
    return (ranked, planned) if planned.makespan_ns < found.makespan_ns else None
