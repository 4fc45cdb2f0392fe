"""OR-Tools' CP-SAT: a constraint solver, strong where many short tasks share few devices."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from ortools.sat.python import cp_model

from milp.cpsat.instance import Instance
from milp.cpsat.model import ConstraintModel
from milp.mip.job import MipJob, MipReport, MipStatus
from milp.mip.solvers import Report

LEAST_TIME_S = 1e-3
"""What is left for the search at least, however long the program took to build."""


def run(job: MipJob, report: Report) -> MipReport:
    """Build the constraint program and solve it."""
    began_s = monotonic()
    model = ConstraintModel(Instance.from_json(Path(job.model_path).read_text(encoding="utf-8")))
    if job.start:
        model.hint(job.start)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(
        job.time_limit_s - (monotonic() - began_s), LEAST_TIME_S
    )
    solver.parameters.num_workers = job.threads
    solver.parameters.relative_gap_limit = job.gap
    solver.parameters.random_seed = 0
    solver.best_bound_callback = lambda bound: report(MipReport(MipStatus.UNSOLVED, bound))
    status = solver.solve(model.program)
    return _result(solver, status, model)


def _result(
    solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, model: ConstraintModel
) -> MipReport:
    text = str(solver.status_name(status))
    if status == cp_model.INFEASIBLE:
        return MipReport(MipStatus.INFEASIBLE, message=text)
    if status == cp_model.MODEL_INVALID:
        return MipReport(MipStatus.FAILED, message=f"CP-SAT: {model.program.validate()}")
    bound = float(solver.best_objective_bound)
    if status == cp_model.UNKNOWN:
        return MipReport(MipStatus.UNSOLVED, max(bound, 0.0), message=text)
    values = {
        name: float(value)
        for name, variable in model.variables.items()
        if (value := solver.value(variable))
    }
    ended = MipStatus.OPTIMAL if status == cp_model.OPTIMAL else MipStatus.FEASIBLE
    return MipReport(ended, bound, float(solver.objective_value), values, text)
