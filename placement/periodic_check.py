"""Whether queries of a periodic schedule that come for ever get in each other's way.

As many of them as are in flight would show it to the validator, and where a schedule lets each wait
for hundreds of turns these are a million spans. They are all alike: what lanes, links and threads
do in one round of the lanes (``PeriodicSchedule.circle``) they do in every one.
"""

from __future__ import annotations

from surplus.placement.memory import capacities
from surplus.placement.occupancy import occupancy_ns, thread_name
from surplus.placement.periodic import PeriodicSchedule
from surplus.placement.periodic_memory import periodic_peaks_bytes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.validator import validate, validate_at_once
from surplus.placement.violation import Rule, Violation, refuse


def periodic_violations(
    problem: Problem, placement: Placement, schedule: PeriodicSchedule
) -> list[Violation]:
    """List what is wrong with a query by itself, and with all of them together.

    Lanes that slow each other are not looked at: how long tasks take on them depends on how many
    queries there are.
    """
    found = validate(problem, placement, schedule.unrolled(1))
    found += validate_at_once(problem, placement, schedule.circle())
    held_ns = occupancy_ns(problem, placement)
    for name in map(thread_name, problem.devices):
        # What it is behind with grows from round to round, and two may not show it yet.
        if held_ns.get(name, 0) > schedule.interval_ns:
            text = f"{name} takes {held_ns[name]} ns of each {schedule.interval_ns}"
            found.append(Violation(Rule.THREAD, text))
    peaks = periodic_peaks_bytes(problem, placement, schedule.timeline, schedule.interval_ns)
    for memory, limit in capacities(problem).items():
        if peaks[memory] > limit:
            text = f"queries hold {peaks[memory]} bytes of {memory!r} at once, which has {limit}"
            found.append(Violation(Rule.MEMORY, text))
    return found


def check_periodic(problem: Problem, placement: Placement, schedule: PeriodicSchedule) -> None:
    """Raise ValueError, naming the first violations, unless queries may come so for ever."""
    found = periodic_violations(problem, placement, schedule)
    refuse(found, f"schedule {schedule.timeline.origin!r}")
