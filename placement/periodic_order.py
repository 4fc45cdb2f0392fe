"""The order in which a periodic schedule begins a query's tasks, as priorities for a runtime.

Within a query the runtime takes what is ready by priority, and of several queries the one that came
first: both as the schedule has it, whose tasks begin in this order in each query.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surplus.placement.ordering import order_of
from surplus.placement.periodic import PeriodicSchedule
from surplus.placement.placement import Placement
from surplus.placement.timeline import SpanKind


def in_periodic_order(placement: Placement, schedule: PeriodicSchedule) -> Placement:
    """The same devices, with the priorities of one of the placement's periodic schedules."""
    starts = {s.index: s.start_ns for s in schedule.timeline if s.kind is not SpanKind.COPY}
    begin_ns = np.array([starts[task] for task in range(len(starts))], np.int64)
    ranks = order_of(begin_ns, np.array(placement.priority, np.int64))
    return replace(placement, priority=tuple(ranks.tolist()))
