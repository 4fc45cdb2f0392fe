"""Latency against throughput: the schedules of some placements of which none is better in both.

At one end a query at a time, as short as it can be; at the other as many in flight as keep the
busiest resource busy. In between, intervals that are longer than the least leave a query less to
wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from surplus.placement.evaluator import makespan_ns
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.periodic import best_within, periodic_schedules
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

_SLACKS = (0.0, 0.02, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class FrontPoint:
    """A way to answer queries.

    Parameters
    ----------
    policy : str
        Whose placement it is.
    interval_ns : int
        Between two queries.
    latency_ns : int
        Of each.
    in_flight : int
        Queries at once, at most.
    """

    policy: str
    interval_ns: int
    latency_ns: int
    in_flight: int

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def throughput_front(problem: Problem, placements: Iterable[Placement]) -> list[FrontPoint]:
    """By interval, ascending; each point's latency is less than that of all before it."""
    points = sorted(
        {point for placement in placements for point in _points(problem, placement)},
        key=lambda point: (point.interval_ns, point.latency_ns, point.policy),
    )
    front: list[FrontPoint] = []
    for point in points:
        if not front or point.latency_ns < front[-1].latency_ns:
            front.append(point)
    return front


def _points(problem: Problem, placement: Placement) -> Iterator[FrontPoint]:
    alone_ns = makespan_ns(problem, placement)
    yield FrontPoint(placement.policy, alone_ns, alone_ns, 1)
    try:
        schedules = periodic_schedules(problem, placement, _SLACKS[-1])
    except InfeasibleError:
        return
    for slack in _SLACKS:
        found = best_within(schedules, slack)
        times = (found.interval_ns, found.latency_ns, found.in_flight)
        yield FrontPoint(placement.policy, *times)
