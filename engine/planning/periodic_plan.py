"""A candidate as its periodic schedule runs it: its segments' order, and how many queries at once.

What the throughput plan's priorities are is when a query's segments begin in the schedule that
attains the load of its busiest resource, or nearly (placement/periodic.py); how many queries it
answers at a time is what that schedule needs, and what the memories were checked to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.segmenter import Candidate
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.periodic import periodic_schedule
from surplus.placement.periodic_order import in_periodic_order


@dataclass(frozen=True)
class PeriodicCandidate:
    """A candidate whose prediction is one query of a periodic schedule.

    Parameters
    ----------
    interval_ns : int
        Between two queries.
    in_flight : int
        Queries at once.
    """

    candidate: Candidate
    interval_ns: int
    in_flight: int


def periodic(costs: Costs, candidate: Candidate) -> PeriodicCandidate | None:
    """Of a candidate of the graph as it is; None if the memories hold none of its queries."""
    graph = candidate.graph
    problem, placement = coarse_problem(graph, costs.service, order=candidate.order)
    try:
        schedule = periodic_schedule(problem, placement)
    except InfeasibleError:
        return None
    order = in_periodic_order(placement, schedule).priority
    shown = replace(candidate, order=order, predicted=schedule.timeline)
    return PeriodicCandidate(shown, schedule.interval_ns, schedule.in_flight)
