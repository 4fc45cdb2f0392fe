"""OR-Tools' CP-SAT: a constraint solver, strong where many short tasks share few devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Protocol

from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.cpsat.model import ConstraintModel
from surplus.milp.cpsat.or_tools import cp_model
from surplus.milp.solvers import Report
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus

LEAST_TIME_S = 1e-3
"""What is left for the search at least, however long the program took to build."""

QUICK_TASKS = 20
"""Of programs of up to so many tasks, presolving would take longer than the search."""

_MEMORY_SHARE = 0.8

_REPORT_S = 0.5
"""How often plans are passed on at most."""


def run(job: SolverJob, report: Report) -> SolverReport:
    """Build the constraint program and solve it."""
    began_s = monotonic()
    model = ConstraintModel(
        CpSatInstance.from_json(Path(job.model_path).read_text(encoding="utf-8"))
    )
    return solved(model, job, report, began_s, hurries=len(model.start) <= QUICK_TASKS)


class Program(Protocol):
    """What CP-SAT solves, with the variables that a start may set and an answer has, by name."""

    program: cp_model.CpModel
    variables: dict[str, cp_model.IntVar]


def solved(
    model: Program, job: SolverJob, report: Report, began_s: float, *, hurries: bool = False
) -> SolverReport:
    """Solve a program within its job's limits.

    Parameters
    ----------
    began_s : float
        When building it began, on ``time.monotonic``'s clock: that counts, too.
    hurries : bool
        Whether it is too small to be simplified first.
    """
    if job.start:
        for name, variable in model.variables.items():  # what it does not name is 0
            model.program.add_hint(variable, round(job.start.get(name, 0.0)))
    solver = cp_model.CpSolver()
    _set_options(solver, job)
    if hurries:
        _hurry(solver)
    left_s = job.time_limit_s - (monotonic() - began_s)
    solver.parameters.max_time_in_seconds = max(left_s, LEAST_TIME_S)
    solver.best_bound_callback = lambda bound: report(SolverReport(SolverStatus.UNSOLVED, bound))
    status = solver.solve(model.program, _Follower(model, report))
    return _result(solver, status, model)


class _Follower(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    """Passes plans on as they are found, so that a killed solver leaves its best one behind."""

    def __init__(self, model: Program, report: Report) -> None:
        super().__init__()
        self._model = model
        self._report = report
        self._next_s = 0.0

    def on_solution_callback(self) -> None:
        """Called by the solver, which waits meanwhile: not for each of many small steps."""
        if monotonic() >= self._next_s:
            values = _values(self._model, self.value)
            found = float(self.objective_value)
            self._report(SolverReport(SolverStatus.FEASIBLE, None, found, values))
            self._next_s = monotonic() + _REPORT_S


def _values(model: Program, value_of: Callable[[cp_model.IntVar], int]) -> dict[str, float]:
    return {
        name: float(value)
        for name, variable in model.variables.items()
        if (value := value_of(variable))
    }


def _set_options(solver: cp_model.CpSolver, job: SolverJob) -> None:
    parameters = solver.parameters
    parameters.num_workers = job.threads
    parameters.relative_gap_limit = job.gap
    parameters.random_seed = 0
    # Without it OR-Tools 9.15 says of one published network that thirty times its least load is
    # optimal (bench/placement_published): a program of the same booleans and loads as ours.
    parameters.keep_all_feasible_solutions_in_presolve = True
    if job.memory_bytes:
        # Stops by itself, with what it has, before it is killed.
        parameters.max_memory_in_mb = max(1, round(_MEMORY_SHARE * job.memory_bytes) >> 20)
    # A tree of its own for the bound, instead of a search for plans that proves what it must.
    parameters.optimize_with_lb_tree_search = job.climbs
    # Dear, but without them a device of several lanes with many short tasks is never proven.
    parameters.use_overload_checker_in_cumulative = True
    parameters.use_timetable_edge_finding_in_cumulative = True
    parameters.use_strong_propagation_in_disjunctive = True
    parameters.use_dynamic_precedence_in_disjunctive = True


def _hurry(solver: cp_model.CpSolver) -> None:
    """Search at once: for small programs looking for what simplifies them takes longest."""
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    solver.parameters.max_presolve_iterations = 1


def _result(
    solver: cp_model.CpSolver, status: cp_model.CpSolverStatus, model: Program
) -> SolverReport:
    text = str(solver.status_name(status))
    if status == cp_model.INFEASIBLE:
        return SolverReport(SolverStatus.INFEASIBLE, message=text)
    if status == cp_model.MODEL_INVALID:
        return SolverReport(SolverStatus.FAILED, message=f"CP-SAT: {model.program.validate()}")
    bound = float(solver.best_objective_bound)
    if status == cp_model.UNKNOWN:
        return SolverReport(SolverStatus.UNSOLVED, max(bound, 0.0), message=text)
    values = _values(model, solver.value)
    ended = SolverStatus.OPTIMAL if status == cp_model.OPTIMAL else SolverStatus.FEASIBLE
    return SolverReport(ended, bound, float(solver.objective_value), values, text)
