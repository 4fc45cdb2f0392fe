"""Bounds of a problem that need no solver."""

from __future__ import annotations

from surplus.milp.window_loads import window_loads_ns
from surplus.milp.windows import Windows, eligible_devices, time_windows
from surplus.placement import lower_bounds
from surplus.placement.problem import Problem


def combinatorial_bound_ns(problem: Problem) -> int:
    """Best bound without a solver: paths, loads, and heads + time + tails."""
    windows = time_windows(problem, eligible_devices(problem))
    return max(lower_bounds(problem).makespan_ns, bound_of_windows_ns(problem, windows))


def bound_of_windows_ns(problem: Problem, windows: Windows) -> int:
    """What heads, tails and the loads between them say: of small problems nearly all there is."""
    through = (
        min(windows.through_ns(problem, task, d) for d in choices)
        for task, choices in enumerate(windows.devices)
    )
    return max(window_loads_ns(problem, windows), max(through, default=0))


def horizon_ns(problem: Problem) -> int:
    """A makespan that some schedule of any placement meets: everything one after the other."""
    work = sum(max(t for t in row if t is not None) for row in problem.least_service_ns)
    copies = sum(
        max(link.copy_ns(tensor.size_bytes) for link in problem.links)
        * len({device.memory for device in problem.devices})
        for tensor in problem.tensors
        if tensor.size_bytes and problem.links
    )
    return work + copies
