"""HiGHS, the default: open, with start points, live bounds and a time limit that it keeps."""

from __future__ import annotations

from typing import Any

import highspy

from surplus.milp.solvers import Report
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus

FEASIBILITY_TOLERANCE = 1e-8
"""Tighter than the default 1e-6: a binary off by that leaks Big-M times as much time."""


def run(job: SolverJob, report: Report) -> SolverReport:
    """Solve with highspy."""
    highs = highspy.Highs()
    for option, value in _options(job).items():
        highs.setOptionValue(option, value)
    highs.readModel(job.model_path)
    names = [str(name) for name in highs.getLp().col_names_]
    _set_start(highs, names, job)
    _follow(highs, report)
    highs.run()
    return _result(highs, names, job)


def _options(job: SolverJob) -> dict[str, Any]:
    return {
        "output_flag": False,
        "time_limit": float(job.time_limit_s),
        "mip_rel_gap": float(job.gap),
        "mip_abs_gap": FEASIBILITY_TOLERANCE,
        "mip_feasibility_tolerance": FEASIBILITY_TOLERANCE,
        "threads": job.threads,
        "random_seed": 0,
    }


def _set_start(highs: highspy.Highs, names: list[str], job: SolverJob) -> None:
    known = [(index, job.start[name]) for index, name in enumerate(names) if name in job.start]
    if known:
        indices, values = zip(*known, strict=True)
        highs.setSolution(len(known), list(indices), list(values))


def _follow(highs: highspy.Highs, report: Report) -> None:
    """Pass live bounds on, so that a killed solver leaves its bound behind."""

    def logged(event: Any) -> None:
        bound = float(event.data_out.mip_dual_bound)
        if abs(bound) < highspy.kHighsInf:
            best = float(event.data_out.mip_primal_bound)
            found = best if abs(best) < highspy.kHighsInf else None
            report(SolverReport(SolverStatus.UNSOLVED, bound, found))

    highs.cbMipLogging.subscribe(logged)


def _result(highs: highspy.Highs, names: list[str], job: SolverJob) -> SolverReport:
    info = highs.getInfo()
    model_status = highs.getModelStatus()
    text = str(highs.modelStatusToString(model_status))
    bound = float(info.mip_dual_bound)
    if model_status == highspy.HighsModelStatus.kInfeasible:
        return SolverReport(SolverStatus.INFEASIBLE, message=text)
    known = bound if abs(bound) < highspy.kHighsInf else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return SolverReport(SolverStatus.UNSOLVED, known, message=text)
    values = {n: v for n, v in zip(names, highs.getSolution().col_value, strict=True) if v}
    optimal = model_status == highspy.HighsModelStatus.kOptimal
    status = SolverStatus.OPTIMAL if optimal else SolverStatus.FEASIBLE
    objective = float(info.objective_function_value)
    if optimal and known is None:
        # Where the start point was optimal and presolve proved it, HiGHS states no bound.
        known = objective - job.gap * abs(objective)
    return SolverReport(status, known, objective, values, text)
