"""A result as text for a terminal."""

from __future__ import annotations

from surplus.milp.result import Result
from surplus.placement import Placement, Problem, SpanKind

NS_PER_US = 1_000


def result_table(problem: Problem, result: Result) -> str:
    """Status, makespan, bound and gap, then the tasks in the order of their starts."""
    lines = [f"{name:<10} {value}" for name, value in _summary(problem, result)]
    if result.timeline is not None:
        lines += ["", *_task_lines(result)]
    return "\n".join(lines)


def _summary(problem: Problem, result: Result) -> list[tuple[str, str]]:
    rows = [
        ("problem", f"{problem.name}: {len(problem.tasks)} tasks, {len(problem.devices)} devices"),
        ("status", str(result.status)),
        ("makespan", _us(result.makespan_ns)),
        ("bound", _us(result.bound_ns)),
        ("gap", "-" if result.gap is None else f"{result.gap:.3%}"),
        ("time", f"{result.runtime_s:.1f} s"),
        ("solver", f"{result.solver} ({result.message})"),
    ]
    if result.dispatched_ns is not None and result.dispatched_ns != result.makespan_ns:
        rows.insert(3, ("dispatched", f"{_us(result.dispatched_ns)} if no free lane ever waits"))
        rows.insert(4, ("with holds", f"{_us(result.held_ns)} ({_held(result.placement)})"))
    return rows


def _held(placement: Placement | None) -> str:
    """How many wait for something more urgent."""
    assert placement is not None
    return f"{len(placement.holds)} of tasks, {len(placement.copy_holds)} of copies"


def _task_lines(result: Result) -> list[str]:
    assert result.timeline is not None
    spans = [span for span in result.timeline if span.kind is SpanKind.TASK]
    name = max((len(span.name) for span in spans), default=4)
    device = max((len(span.resource) for span in spans), default=6)
    head = f"{'task':<{name}}  {'device':<{device}}  {'start us':>12}  {'end us':>12}"
    return [head] + [
        f"{span.name:<{name}}  {span.resource:<{device}}"
        f"  {span.start_ns / NS_PER_US:>12.1f}  {span.end_ns / NS_PER_US:>12.1f}"
        for span in spans
    ]


def _us(time_ns: int | None) -> str:
    return "-" if time_ns is None else f"{time_ns / NS_PER_US:.1f} us"
