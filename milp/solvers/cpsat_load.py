"""CP-SAT on the program of the least load; the job's model is a problem in JSON.

First comes the program's linear relaxation: it bounds the load, and rounded it is a better start
than known placements are. CP-SAT by itself finds none like it among thousands of tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from surplus.milp.deadline import Deadline
from surplus.milp.solvers import Report
from surplus.milp.solvers.cpsat import solved
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.standing import PROVEN_GAP
from surplus.milp.throughput.answers import Values, devices_of, values_of
from surplus.milp.throughput.exchange import exchanged
from surplus.milp.throughput.model import LoadModel
from surplus.milp.throughput.relaxation import Relaxation, relaxation
from surplus.placement.memory import binding_capacities
from surplus.placement.occupancy import Occupancy
from surplus.placement.problem import Problem

_RELAXING_SHARE, _ROUNDING_SHARE = 0.5, 0.5
"""Of the time that is left: for the relaxation, then for its rounding."""


def run(job: SolverJob, report: Report) -> SolverReport:
    """Build the program, relax it, and solve it from the best start."""
    began_s = monotonic()
    deadline = Deadline.after(job.time_limit_s)
    problem = Problem.from_json(Path(job.model_path).read_text(encoding="utf-8"))
    model = LoadModel(problem)
    relaxed = relaxation(model, _RELAXING_SHARE * deadline.left_s)
    if relaxed is None:
        return solved(model, job, report, began_s)
    report(SolverReport(SolverStatus.UNSOLVED, float(relaxed.bound_ns)))
    model.program.add(model.load >= relaxed.bound_ns)
    start = _start(problem, job.start, relaxed, deadline.part(_ROUNDING_SHARE))
    report(start)
    assert start.objective is not None
    if start.objective - relaxed.bound_ns <= max(job.gap, PROVEN_GAP) * start.objective:
        return replace(start, bound=float(relaxed.bound_ns), message="the relaxation was rounded")
    found = solved(model, replace(job, start=start.values), report, began_s)
    if found.status is SolverStatus.INFEASIBLE:
        return found
    if not found.values or _load_ns(problem, devices_of(problem, found.values)) > start.objective:
        return replace(start, bound=found.bound, message=found.message)
    return found


def _start(
    problem: Problem, known: Values, relaxed: Relaxation, deadline: Deadline
) -> SolverReport:
    """The better of what is known and, unless memories are short, the rounded relaxation."""
    starts = [devices_of(problem, known)]
    if not binding_capacities(problem):
        starts.append(exchanged(problem, relaxed.device_of(), relaxed.prices, deadline))
    loads = [_load_ns(problem, devices) for devices in starts]
    best = loads.index(min(loads))
    return SolverReport(SolverStatus.FEASIBLE, None, loads[best], values_of(starts[best]))


def _load_ns(problem: Problem, device_of: Sequence[int]) -> float:
    return float(Occupancy(problem, device_of).busiest()[1])
