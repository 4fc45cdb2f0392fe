"""Widths: how many lanes of its device a task takes at once, where it may choose.

A moldable task (``Task.wider_ns``) may run on more lanes than its narrowest width, which seldom
makes it as many times shorter. Once a placement has chosen, the problem is one of tasks of fixed
widths: ``molded`` is that problem, and who plays, judges or charges a placement looks at it alone.
Policies that know of one width a device take the narrowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.placement.placement import Placement
    from surplus.placement.problem import Problem, Task

TimeAt = tuple[int, int]
"""Lanes, and the service time on so many, ns."""

Place = tuple[int, int]
"""A device and a width on it; 0 for the narrowest of each task."""

Row = tuple[int | None, ...]
"""Of one task by device, nanoseconds; None where it cannot run."""


def times_at(task: Task, device: int) -> tuple[TimeAt, ...]:
    """All widths of a task on a device, the narrowest first; none where it cannot run."""
    service_ns = task.service_ns[device]
    if service_ns is None:
        return ()
    wider = task.wider_ns[device] if task.wider_ns else ()
    return ((task.width(device), service_ns), *wider)


def is_moldable(problem: Problem) -> bool:
    """Whether any task has a choice."""
    return len(problem.places) > len(problem.devices)


def places_of(problem: Problem) -> tuple[Place, ...]:
    """Each device, then each again for each further width of any task on it."""
    count = len(problem.devices)
    wide = {
        (device, width)
        for task in problem.tasks
        if task.wider_ns
        for device in range(count)
        for width, _ in times_at(task, device)[1:]
    }
    return (*((device, 0) for device in range(count)), *sorted(wide))


def least_service_ns(problem: Problem) -> tuple[Row, ...]:
    """Of each task by device: the least at any width, however lanes slow each other."""
    devices = tuple(enumerate(problem.devices))
    return tuple(
        tuple(
            min((device.least_ns(ns, width) for width, ns in times_at(task, index)), default=None)
            for index, device in devices
        )
        for task in problem.tasks
    )


def least_work_ns(problem: Problem) -> list[list[int | None]]:
    """Of each task by device: the least lane-nanoseconds at any width, as ``least_service_ns``."""
    devices = tuple(enumerate(problem.devices))
    return [
        [
            min(
                (width * device.least_ns(ns, width) for width, ns in times_at(task, index)),
                default=None,
            )
            for index, device in devices
        ]
        for task in problem.tasks
    ]


def molded(problem: Problem, placement: Placement) -> Problem:
    """The problem in which each task has the width that was chosen, and no other.

    Parameters
    ----------
    placement : Placement
        Must fit the problem (``Placement.check``).
    """
    if not is_moldable(problem):
        return problem
    widths = placement.widths(problem)
    rows = zip(problem.tasks, placement.device_of, widths, strict=True)
    return replace(problem, tasks=tuple(_fixed(*row) for row in rows))


def least_work(problem: Problem) -> Problem:
    """The problem in which each task takes the width of the least lane-time on each device."""
    if not is_moldable(problem):
        return problem
    return replace(problem, tasks=tuple(_of_least_work(task) for task in problem.tasks))


def narrow(problem: Problem) -> Problem:
    """The problem in which each task has its narrowest width alone."""
    if not is_moldable(problem):
        return problem
    return replace(problem, tasks=tuple(replace(task, wider_ns=()) for task in problem.tasks))


def widths_or_narrowest(
    problem: Problem, device_of: Sequence[int], known: Mapping[int, int]
) -> tuple[int, ...]:
    """The widths that are known by task, else the narrowest; none if nothing is to be chosen."""
    if not is_moldable(problem):
        return ()
    return tuple(
        known.get(index, task.width(device))
        for index, (task, device) in enumerate(zip(problem.tasks, device_of, strict=True))
    )


def check_widths(problem: Problem, placement: Placement) -> None:
    """Raise ValueError, naming the task, if it cannot have the width that was chosen.

    Parameters
    ----------
    placement : Placement
        Its devices must fit the problem.
    """
    if len(placement.width_of) != len(problem.tasks):
        raise ValueError(
            f"placement has {len(placement.width_of)} widths for {len(problem.tasks)} tasks"
        )
    rows = zip(problem.tasks, placement.device_of, placement.width_of, strict=True)
    for task, device, width in rows:
        known = [lanes for lanes, _ in times_at(task, device)]
        if width not in known:
            name = problem.devices[device].name
            shown = ", ".join(map(str, known))
            raise ValueError(
                f"task {task.name!r} has no width {width} on device {name!r}, only {shown}"
            )


def _fixed(task: Task, device: int, width: int) -> Task:
    """The task with one width on a device; on the others it keeps its narrowest."""
    count = len(task.service_ns)
    service_ns = dict(times_at(task, device))[width]
    return replace(
        task,
        service_ns=tuple(service_ns if d == device else task.service_ns[d] for d in range(count)),
        widths=tuple(width if d == device else task.width(d) for d in range(count)),
        wider_ns=(),
    )


def _of_least_work(task: Task) -> Task:
    best = [
        min(
            times_at(task, device),
            key=lambda at: (at[0] * at[1], at[0]),
            default=(task.width(device), None),
        )
        for device in range(len(task.service_ns))
    ]
    widths, times_ns = zip(*best, strict=True)
    return replace(task, service_ns=times_ns, widths=widths, wider_ns=())
