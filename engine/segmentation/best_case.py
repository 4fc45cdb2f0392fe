"""What tasks take at best within segments, for bounds on plans.

Segments are fused and may be wide, which the placement problem knows nothing of: its own bound can
lie above what a plan takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.bounds import lower_bounds
from surplus.placement.problem import Problem

_PROFILED: Mapping[tuple[int, int], float] = MappingProxyType({})


def best_case(
    problem: Problem, service: ServiceTimes, shares: Mapping[tuple[int, int], float] = _PROFILED
) -> Problem:
    """The problem with each task at its fastest width, fused as the whole model is.

    Parameters
    ----------
    shares : mapping of (task, device) to float
        What part of that time is known to be enough; 1 where nothing is said.
    """

    def least_ns(task: int, device: int) -> int | None:
        times = [
            (service.task_ns[device, width][task], service.fusion.get((device, width), 1.0))
            for width in service.widths(device)
        ]
        if device in service.captured_ns:
            times.append((service.captured_ns[device][task], 1.0))
        # Rounded down: a segment rounds once, and a bound must not add up what its tasks rounded.
        best = min(
            (int(ns * min(1.0, fusion)) for ns, fusion in times if ns is not None), default=None
        )
        return best if best is None else int(best * shares.get((task, device), 1.0))

    devices = range(len(problem.devices))
    tasks = tuple(
        replace(task, service_ns=tuple(least_ns(index, device) for device in devices), widths=())
        for index, task in enumerate(problem.tasks)
    )
    return replace(problem, tasks=tasks)


def bound_in_place_ns(
    graph: GroupGraph, service: ServiceTimes, measured_ns: Mapping[int, int]
) -> int:
    """Lower bound of any plan's makespan, where groups were measured to take so long in place.

    A group that is faster in place than its tasks are at best shows that these can be so much
    faster: caches are warm, the machine has another speed than when they were profiled. So the
    bound stays below what a plan of these groups takes.

    Parameters
    ----------
    measured_ns : mapping of int to int
        By group index.
    """
    profiled = best_case(graph.problem, service)
    shares: dict[tuple[int, int], float] = {}
    for index, time_ns in measured_ns.items():
        group = graph.groups[index]
        least_ns = sum(profiled.tasks[task].service_ns[group.device] or 0 for task in group.tasks)
        if time_ns < least_ns:
            shares |= {(task, group.device): time_ns / least_ns for task in group.tasks}
    return lower_bounds(best_case(graph.problem, service, shares)).makespan_ns
