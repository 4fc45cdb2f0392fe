"""Standard task graphs as CP-SAT's own examples have them: intervals, precedence, a cumulative.

What a user of OR-Tools has after ten lines: no bounds, no reductions, no plan to begin with. It
counts in the files' units.
"""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from surplus.placement import Problem
from surplus.placement.formats.stg import UNIT_NS


@dataclass(frozen=True)
class PlainResult:
    """Makespan that was found, None without one, and the bound."""

    makespan_ns: int | None
    bound_ns: int
    is_proven: bool


def plain_cpsat(problem: Problem, time_s: float, threads: int) -> PlainResult:
    """Search for so many seconds; a problem of one device, whose tensors cost nothing."""
    (device,) = problem.devices
    times = [(task.service_ns[0] or 0) // UNIT_NS for task in problem.tasks]
    model = cp_model.CpModel()
    starts = [model.new_int_var(0, sum(times), "") for _ in times]
    makespan = model.new_int_var(0, sum(times), "")
    rows = [
        model.new_fixed_size_interval_var(start, time, "")
        for start, time in zip(starts, times, strict=True)
    ]
    model.add_cumulative(rows, [1] * len(rows), device.lanes)
    for start, time in zip(starts, times, strict=True):
        model.add(start + time <= makespan)
    for task, before in enumerate(problem.predecessors):
        for other in before:
            model.add(starts[task] >= starts[other] + times[other])
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_s
    solver.parameters.num_workers = threads
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return PlainResult(
        UNIT_NS * round(solver.objective_value) if found else None,
        UNIT_NS * round(max(0.0, solver.best_objective_bound)),
        status == cp_model.OPTIMAL,
    )
