"""The solver's process: a job on stdin, reports on stdout, a line each.

As ``surplus.milp.solvers.worker``, of the program of the least load. Run as ``python -m
surplus.milp.throughput.worker`` by ``search.py``; the job's model is a problem in JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from ortools.sat.python import cp_model

from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.throughput.model import LoadModel
from surplus.placement.problem import Problem

_LEAST_TIME_S = 1e-3
"""What is left for the search at least, however long the program took to build."""


def solved(job: SolverJob, report: Callable[[SolverReport], None]) -> SolverReport:
    """Build the program and solve it; the answer's values are devices by index of the task."""
    began_s = monotonic()
    problem = Problem.from_json(Path(job.model_path).read_text(encoding="utf-8"))
    model = LoadModel(problem)
    if job.start:
        model.hint([round(job.start[str(i)]) for i in range(len(problem.tasks))])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = job.threads
    solver.parameters.relative_gap_limit = job.gap
    solver.parameters.random_seed = 0
    left_s = job.time_limit_s - (monotonic() - began_s)
    solver.parameters.max_time_in_seconds = max(left_s, _LEAST_TIME_S)
    solver.best_bound_callback = lambda bound: report(SolverReport(SolverStatus.UNSOLVED, bound))
    status = solver.solve(model.program)
    words = str(solver.status_name(status))
    if status == cp_model.INFEASIBLE:
        return SolverReport(SolverStatus.INFEASIBLE, message=words)
    bound = max(0.0, float(solver.best_objective_bound))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return SolverReport(SolverStatus.UNSOLVED, bound, message=words)
    values = {variable.name: solver.value(variable) for variable in model.variables}
    devices = {str(i): float(d) for i, d in enumerate(model.devices(values))}
    ended = SolverStatus.OPTIMAL if status == cp_model.OPTIMAL else SolverStatus.FEASIBLE
    return SolverReport(ended, bound, float(solver.objective_value), devices, words)


def main() -> None:
    """Solve one job."""
    # Solvers print to the process's stdout; the reports keep a channel of their own.
    with os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8") as channel:
        os.dup2(2, 1)

        def report(state: SolverReport) -> None:
            channel.write(state.to_json() + "\n")

        report(solved(SolverJob.from_json(sys.stdin.read()), report))


if __name__ == "__main__":
    main()
