"""OR-Tools' CP-SAT: a constraint solver, strong where many short tasks share few devices."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from ortools.sat.python import cp_model

from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.cpsat.model import ConstraintModel
from surplus.milp.solvers import Report
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus

LEAST_TIME_S = 1e-3
"""What is left for the search at least, however long the program took to build."""

SEARCHES = ("no_lp", "lb_tree_search", "default_lp", "quick_restart_no_lp")
"""CP-SAT's searches, one a thread. The first learns from conflicts alone: it proves what is left
between the best plan and the bound of the linear relaxation, which the second raises."""


def run(job: SolverJob, report: Report) -> SolverReport:
    """Build the constraint program and solve it."""
    began_s = monotonic()
    model = ConstraintModel(
        CpSatInstance.from_json(Path(job.model_path).read_text(encoding="utf-8"))
    )
    if job.start:
        model.hint(job.start)
    solver = cp_model.CpSolver()
    _set_options(solver, job)
    left_s = job.time_limit_s - (monotonic() - began_s)
    solver.parameters.max_time_in_seconds = max(left_s, LEAST_TIME_S)
    solver.best_bound_callback = lambda bound: report(SolverReport(SolverStatus.UNSOLVED, bound))
    status = solver.solve(model.program)
    return _result(solver, status, model)


def _set_options(solver: cp_model.CpSolver, job: SolverJob) -> None:
    parameters = solver.parameters
    parameters.num_workers = job.threads
    parameters.relative_gap_limit = job.gap
    parameters.random_seed = 0
    if job.threads > 1:
        parameters.subsolvers.extend(SEARCHES)
    # Dear, but without them a device of several lanes with many short tasks is never proven.
    parameters.use_overload_checker_in_cumulative = True
    parameters.use_timetable_edge_finding_in_cumulative = True
    parameters.use_strong_propagation_in_disjunctive = True
    parameters.use_dynamic_precedence_in_disjunctive = True


def _result(
    solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, model: ConstraintModel
) -> SolverReport:
    text = str(solver.status_name(status))
    if status == cp_model.INFEASIBLE:
        return SolverReport(SolverStatus.INFEASIBLE, message=text)
    if status == cp_model.MODEL_INVALID:
        return SolverReport(SolverStatus.FAILED, message=f"CP-SAT: {model.program.validate()}")
    bound = float(solver.best_objective_bound)
    if status == cp_model.UNKNOWN:
        return SolverReport(SolverStatus.UNSOLVED, max(bound, 0.0), message=text)
    values = {
        name: float(value)
        for name, variable in model.variables.items()
        if (value := solver.value(variable))
    }
    ended = SolverStatus.OPTIMAL if status == cp_model.OPTIMAL else SolverStatus.FEASIBLE
    return SolverReport(ended, bound, float(solver.objective_value), values, text)
