"""The time that all makespans of shortest schedules are multiples of.

Take a shortest schedule and keep the order of its starts and ends, copies and submissions included:
as long as that stays, so does what runs beside what, what memories hold, and how long everything
takes. Starts in that order are constrained by differences alone, ``x_j - x_i >= d``, where each
``d`` is 0 or a time of the problem. The least makespan under such constraints is a longest path
(Bellman 1958), a sum of such times, and no larger than the schedule's. So the optimum is a multiple
of the greatest common divisor of all times, and a bound may be rounded up to the next one: of
problems in whole units, like published task graphs, that is often the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from surplus.placement.problem import Problem
from surplus.placement.widths import times_at


def granularity_ns(problem: Problem) -> int:
    """The greatest common divisor of all times of a problem, >= 1."""
    found = 0
    for time_ns in _times_ns(problem):
        found = gcd(found, time_ns)
        if found == 1:
            break  # most are: nothing is looked at twice
    return max(1, found)


def rounded_up(bound_ns: int, granularity: int) -> int:
    """The least multiple that is no less."""
    return -(-bound_ns // granularity) * granularity


def _times_ns(problem: Problem) -> Iterator[int]:
    """All that a schedule's times are sums of."""
    for task in problem.tasks:
        yield from task.launch_ns
        for index, device in enumerate(problem.devices):
            for _, service_ns in times_at(task, index):
                yield service_ns
                yield from (
                    device.slowed_ns(service_ns, busy + 1) for busy in range(len(device.slowdown))
                )
    yield from (device.submit_ns for device in problem.devices)
    sizes = {tensor.size_bytes for tensor in problem.tensors if tensor.size_bytes}
    for link in problem.links if sizes else ():
        yield link.latency_ns
        yield from map(link.hold_ns, sizes)
