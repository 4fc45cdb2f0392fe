"""Known plans: the best one is kept outside the solver, so that no solver can lose it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from surplus import placement
from surplus.milp.copies import LinkCopy
from surplus.milp.left_out import is_planned_exactly
from surplus.milp.schedule import placement_of, schedule_in_order
from surplus.placement import Placement, Problem, Timeline
from surplus.placement.memory import binding_capacities
from surplus.placement.staging_faults import staging_faults


@dataclass(frozen=True)
class Incumbent:
    """A placement and the best timeline that is known for it.

    Parameters
    ----------
    placement : Placement
        Its priorities are the order of the timeline's starts.
    timeline : Timeline
        Valid for the problem.
    dispatched_ns : int
        Makespan of the placement by ``placement.simulate``, without holds.
    held_ns : int, optional
        The same with the placement's holds, once these are known (executable.py).
    """

    placement: Placement
    timeline: Timeline
    dispatched_ns: int
    held_ns: int | None = None

    @property
    def makespan_ns(self) -> int:
        """Length of the plan."""
        return self.timeline.makespan_ns

    @property
    def width_of(self) -> dict[int, int]:
        """Width of each task; empty if no task has a choice."""
        return dict(enumerate(self.placement.width_of))


def make_incumbent(
    problem: Problem,
    device_of: Sequence[int],
    starts: Sequence[float],
    origin: str,
    copy_starts: Mapping[LinkCopy, float] | None = None,
    width_of: Mapping[int, int] | None = None,
) -> Incumbent:
    """Decode planned starts: simulate, and where that is longer keep to the planned order.

    Of the two a timeline that the memories do not hold is taken only if neither fits.

    Parameters
    ----------
    width_of : mapping of int to int, optional
        By task, of those that have a choice; the others are as narrow as they can be.
    """
    placed = placement_of(problem, device_of, starts, origin, width_of)
    dispatched = placement.simulate(problem, placed)
    timelines = [dispatched]
    # Submitting threads and lanes that slow each other are known to the simulator alone, and so is
    # how to wait for a pinned pool: a plan that needs no wait is as good as any.
    if is_planned_exactly(problem):
        planned = schedule_in_order(problem, placed, copy_starts)
        if not any(staging_faults(problem, planned)):
            timelines.append(planned)
    timeline = min(
        timelines,
        key=lambda t: (not fits_memory(problem, placed, t), t.makespan_ns),
    )
    return Incumbent(placed, timeline, dispatched.makespan_ns)


def best_of(incumbents: Iterable[Incumbent]) -> Incumbent | None:
    """The shortest plan; among equals the one that dispatches best, then the first."""
    return min(incumbents, key=lambda i: (i.makespan_ns, i.dispatched_ns), default=None)


def fits_memory(problem: Problem, placed: Placement, timeline: Timeline) -> bool:
    """Whether no memory ever holds more than it can."""
    limits = binding_capacities(problem)
    uses = placement.memory_use(problem, placed, timeline) if limits else {}
    return all(use.peak_bytes <= limits.get(memory, use.peak_bytes) for memory, use in uses.items())
