"""Judges a stored result against its problem, from the two files alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from surplus.placement.bounds import lower_bounds
from surplus.placement.named_holds import holds_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate
from surplus.placement.stored_schedule import StoredSchedule, timeline_of
from surplus.placement.validator import validate
from surplus.placement.widths import is_moldable


def stored_faults(problem: Problem, text: str) -> list[str]:
    """What is wrong with a stored result, in words; empty if it is valid.

    Its schedule has to keep all rules of the problem, copies included, and what it says of its
    length, bound and gap has to be so. That no plan is below its bound is not proven anew.

    Parameters
    ----------
    text : str
        A document of one of ``stored_schedule.FORMATS``.

    Raises
    ------
    ValueError
        If it is no such document.
    """
    schedule = StoredSchedule.from_json(text)
    faults = list(_claims(problem, schedule))
    if schedule.makespan_ns is None:
        return faults + ["a schedule without makespan_ns"] * bool(schedule.tasks)
    unknown = list(_names(problem, schedule))
    return faults + (unknown or list(_plan(problem, schedule, schedule.makespan_ns)))


def _claims(problem: Problem, schedule: StoredSchedule) -> Iterator[str]:
    if schedule.problem != problem.name:
        yield f"a result of problem {schedule.problem!r}, not {problem.name!r}"
    if (makespan_ns := schedule.makespan_ns) is None:
        return
    own_ns = lower_bounds(problem).makespan_ns
    for whose, bound_ns in (("bound_ns", schedule.bound_ns), ("the bound of its problem", own_ns)):
        if bound_ns > makespan_ns:
            yield f"{whose}, {bound_ns}, is above makespan_ns, {makespan_ns}"
    gap = (makespan_ns - schedule.bound_ns) / makespan_ns if makespan_ns else 0.0
    if schedule.gap is not None and not isclose(schedule.gap, gap, abs_tol=1e-9):
        yield f"gap is {schedule.gap}, not {gap}"


def _names(problem: Problem, schedule: StoredSchedule) -> Iterator[str]:
    """What keeps the rows from being a placement."""
    devices = {device.name for device in problem.devices}
    listed = [row.name for row in schedule.tasks]
    wanted = {task.name for task in problem.tasks}
    for row in schedule.tasks:
        if row.name not in wanted:
            yield f"task {row.name!r} is unknown"
        if row.device not in devices:
            yield f"task {row.name!r} on an unknown device {row.device!r}"
    yield from (f"task {name!r} does not occur" for name in sorted(wanted.difference(listed)))
    yield from (f"task {n!r} occurs twice" for n in sorted(set(listed)) if listed.count(n) > 1)


def _plan(problem: Problem, schedule: StoredSchedule, makespan_ns: int) -> Iterator[str]:
    timeline = timeline_of(problem, schedule)
    try:
        placement = _placement_of(problem, schedule)
        placement.check(problem)
    except ValueError as error:
        yield str(error)
        return
    yield from map(str, validate(problem, placement, timeline))
    if timeline.makespan_ns != makespan_ns:
        yield f"makespan_ns is {makespan_ns}, its last task or copy ends at {timeline.makespan_ns}"
    free = placement.without_holds()
    yield from _simulated(problem, free, "dispatched_ns", schedule.dispatched_ns)
    yield from _simulated(problem, placement, "held_ns", schedule.held_ns)


def _simulated(
    problem: Problem, placement: Placement, name: str, claimed_ns: int | None
) -> Iterator[str]:
    if claimed_ns is None:
        return
    found_ns = simulate(problem, placement).makespan_ns
    if found_ns != claimed_ns:
        yield f"{name} is {claimed_ns}, simulated {found_ns}"


def _placement_of(problem: Problem, schedule: StoredSchedule) -> Placement:
    devices = {device.name: index for index, device in enumerate(problem.devices)}
    rows = {row.name: row for row in schedule.tasks}
    ordered = [rows[task.name] for task in problem.tasks]
    holds, copy_holds = holds_of(problem, schedule.holds, schedule.copy_holds)
    return Placement(
        tuple(devices[row.device] for row in ordered),
        tuple(row.priority for row in ordered),
        "stored",
        tuple(len(row.lanes) for row in ordered) if is_moldable(problem) else (),
        holds,
        copy_holds,
    )
