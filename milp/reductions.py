"""Shrinks the model by what a known makespan rules out.

Each reduction keeps every schedule that is no longer than the upper bound, the incumbent
itself included. So the incumbent stays a feasible start, and a model that became infeasible
shows a fault instead of passing as a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from surplus.milp.closure import ancestors
from surplus.milp.window_loads import forced_loads_ns
from surplus.milp.windows import (
    LOAD_TASKS_MAX,
    Windows,
    eligible_devices,
    service_ns,
    time_windows,
)
from surplus.placement.problem import Problem

ROUNDS_MAX = 8
"""How often what was fixed is looked at for what it fixes next; once in very large problems."""


@dataclass(frozen=True)
class Pair:
    """Two tasks that might meet on a device and that nothing orders yet.

    Parameters
    ----------
    first, second : int
        Task indices, ``first < second``.
    devices : tuple of int
        Devices that both may use and on which their windows overlap.
    forward, backward : bool
        Whether the first can run before the second on a lane within the upper bound, and the
        second before the first.
    """

    first: int
    second: int
    devices: tuple[int, ...]
    forward: bool
    backward: bool


@dataclass(frozen=True)
class Reduced:
    """A problem's windows and pairs under an upper bound.

    Parameters
    ----------
    problem : Problem
        What is to be placed.
    upper_ns : int
        Makespan that a schedule of interest does not exceed.
    windows : Windows
        Devices that are left for each task, heads and tails.
    """

    problem: Problem
    upper_ns: int
    windows: Windows

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Disjunctions that are left: quadratically many, so only integer programs ask."""
        return tuple(_pairs(self.problem, self.windows, self.upper_ns))


def reduce_problem(problem: Problem, upper_ns: int) -> Reduced:
    """Fix devices until nothing changes."""
    return Reduced(problem, upper_ns, fix_devices(problem, upper_ns))


def fix_devices(problem: Problem, upper_ns: int) -> Windows:
    """Take a device from a task if head + time + tail exceeds the upper bound there.

    Or the load of a window in which the task runs there.

    Raises
    ------
    ValueError
        If a task has no device left: no schedule is as short as ``upper_ns``.
    """
    windows = time_windows(problem, eligible_devices(problem))
    for _ in range(ROUNDS_MAX if len(problem.tasks) <= LOAD_TASKS_MAX else 1):
        forced = forced_ns(problem, windows)
        kept = tuple(
            tuple(d for d in choices if forced[task][d] <= upper_ns)
            for task, choices in enumerate(windows.devices)
        )
        for task, choices in zip(problem.tasks, kept, strict=True):
            if not choices:
                raise ValueError(f"task {task.name!r}: no schedule of {upper_ns} ns runs it")
        if kept == windows.devices:
            return windows
        windows = time_windows(problem, kept)
    return windows


def forced_ns(problem: Problem, windows: Windows) -> list[dict[int, int]]:
    """By task and device, what no schedule is below that runs it there."""
    loads = (
        forced_loads_ns(problem, windows).tolist()
        if len(problem.tasks) <= LOAD_TASKS_MAX
        else [[0] * len(problem.devices)] * len(problem.tasks)
    )
    return [
        {d: max(int(loads[task][d]), windows.through_ns(problem, task, d)) for d in choices}
        for task, choices in enumerate(windows.devices)
    ]


def _pairs(problem: Problem, windows: Windows, upper_ns: int) -> Iterator[Pair]:
    before = ancestors(problem)
    for first, second in combinations(range(len(problem.tasks)), 2):
        if before[second] >> first & 1 or not _can_overlap(windows, first, second, upper_ns):
            continue
        shared = tuple(sorted({*windows.devices[first]} & {*windows.devices[second]}))
        if shared:
            forward = _fits(problem, windows, first, second, upper_ns, shared)
            backward = _fits(problem, windows, second, first, upper_ns, shared)
            yield Pair(first, second, shared, forward, backward)


def _can_overlap(windows: Windows, first: int, second: int, upper_ns: int) -> bool:
    """Whether neither window ends before the other begins."""
    end_first = upper_ns - windows.least_tail_ns(first)
    end_second = upper_ns - windows.least_tail_ns(second)
    return end_first > windows.least_head_ns(second) and end_second > windows.least_head_ns(first)


def _fits(
    problem: Problem,
    windows: Windows,
    earlier: int,
    later: int,
    upper_ns: int,
    devices: tuple[int, ...],
) -> bool:
    """Whether one task can run wholly before the other on some device within the bound."""
    return any(
        windows.head_ns[earlier][d]
        + service_ns(problem, earlier, d)
        + service_ns(problem, later, d)
        + windows.tail_ns[later][d]
        <= upper_ns
        for d in devices
    )
