"""Gurobi, where the user has gurobipy and a licence."""

from __future__ import annotations

import gurobipy

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.solvers import Report
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.licence import explain_gurobi_error

INTEGRALITY_TOLERANCE = 1e-8
"""Tighter than the default 1e-5: a binary off by that leaks Big-M times as much time."""


def run(job: SolverJob, report: Report) -> SolverReport:
    """Solve with gurobipy; it reports nothing on the way."""
    try:
        with (
            gurobipy.Env(params={"OutputFlag": 0}) as env,
            gurobipy.read(job.model_path, env=env) as model,
        ):
            return _solve(model, job)
    except gurobipy.GurobiError as error:
        raise SolverUnavailableError(explain_gurobi_error(error.errno, str(error))) from error


def _solve(model: gurobipy.Model, job: SolverJob) -> SolverReport:
    model.Params.TimeLimit = job.time_limit_s
    model.Params.MIPGap = job.gap
    model.Params.Threads = job.threads
    model.Params.IntFeasTol = INTEGRALITY_TOLERANCE
    for variable in model.getVars():
        if job.start:
            variable.Start = job.start.get(variable.VarName, gurobipy.GRB.UNDEFINED)
    model.optimize()
    return _result(model)


def _result(model: gurobipy.Model) -> SolverReport:
    text = f"Gurobi status {model.Status}"
    if model.Status == gurobipy.GRB.INFEASIBLE:
        return SolverReport(SolverStatus.INFEASIBLE, message=text)
    bound = model.ObjBound if abs(model.ObjBound) < gurobipy.GRB.INFINITY else None
    if model.SolCount == 0:
        return SolverReport(SolverStatus.UNSOLVED, bound, message=text)
    values = {v.VarName: v.X for v in model.getVars() if v.X}
    optimal = model.Status == gurobipy.GRB.OPTIMAL
    status = SolverStatus.OPTIMAL if optimal else SolverStatus.FEASIBLE
    return SolverReport(status, bound, model.ObjVal, values, text)
