"""Gurobi, where the user has gurobipy and a licence."""

from __future__ import annotations

import gurobipy

from milp.errors import SolverUnavailableError
from milp.mip.job import MipJob, MipReport, MipStatus
from milp.mip.licence import explain_gurobi_error
from milp.mip.solvers import Report

INTEGRALITY_TOLERANCE = 1e-8
"""Tighter than the default 1e-5: a binary off by that leaks Big-M times as much time."""


def run(job: MipJob, report: Report) -> MipReport:
    """Solve with gurobipy; it reports nothing on the way."""
    try:
        with (
            gurobipy.Env(params={"OutputFlag": 0}) as env,
            gurobipy.read(job.model_path, env=env) as model,
        ):
            return _solve(model, job)
    except gurobipy.GurobiError as error:
        raise SolverUnavailableError(explain_gurobi_error(error.errno, str(error))) from error


def _solve(model: gurobipy.Model, job: MipJob) -> MipReport:
    model.Params.TimeLimit = job.time_limit_s
    model.Params.MIPGap = job.gap
    model.Params.Threads = job.threads
    model.Params.IntFeasTol = INTEGRALITY_TOLERANCE
    for variable in model.getVars():
        if job.start:
            variable.Start = job.start.get(variable.VarName, gurobipy.GRB.UNDEFINED)
    model.optimize()
    return _result(model)


def _result(model: gurobipy.Model) -> MipReport:
    text = f"Gurobi status {model.Status}"
    if model.Status == gurobipy.GRB.INFEASIBLE:
        return MipReport(MipStatus.INFEASIBLE, message=text)
    bound = model.ObjBound if abs(model.ObjBound) < gurobipy.GRB.INFINITY else None
    if model.SolCount == 0:
        return MipReport(MipStatus.UNSOLVED, bound, message=text)
    values = {v.VarName: v.X for v in model.getVars() if v.X}
    optimal = model.Status == gurobipy.GRB.OPTIMAL
    status = MipStatus.OPTIMAL if optimal else MipStatus.FEASIBLE
    return MipReport(status, bound, model.ObjVal, values, text)
