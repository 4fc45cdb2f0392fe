"""The order in which a periodic schedule begins a query's tasks, as priorities for a runtime.

Within a query the runtime takes what is ready by priority, and of several queries the one that came
first: both as the schedule has it, whose tasks begin in this order in each query.
"""

from __future__ import annotations

from dataclasses import replace

from surplus.placement.periodic import PeriodicSchedule
from surplus.placement.placement import Placement
from surplus.placement.timeline import SpanKind


def in_periodic_order(placement: Placement, schedule: PeriodicSchedule) -> Placement:
    """The same devices, with the priorities of one of the placement's periodic schedules."""
    starts = {s.index: s.start_ns for s in schedule.timeline if s.kind is not SpanKind.COPY}
    before = placement.priority
    tasks = sorted(range(len(before)), key=lambda task: (starts[task], before[task]))
    priority = [0] * len(tasks)
    for rank, task in enumerate(tasks):
        priority[task] = rank
    return replace(placement, priority=tuple(priority))
