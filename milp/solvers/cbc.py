"""CBC, the binary that PuLP brings; to compare with published results."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pulp

from surplus.milp.solvers import Report
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus

_BOUND = re.compile(r"(?:Lower bound:|best possible)\s+(-?[\d.]+(?:e[+-]?\d+)?)", re.IGNORECASE)


def run(job: SolverJob, report: Report) -> SolverReport:
    """Solve with PuLP's CBC; it reports nothing on the way."""
    # PuLP 3.3 warns of names that it keeps until 4.0; older versions have only these.
    warnings.simplefilter("ignore", DeprecationWarning)
    with TemporaryDirectory(prefix="milp-cbc-") as folder:
        log = Path(folder, "cbc.log")
        variables, program = pulp.LpProblem.fromMPS(job.model_path)
        for name, variable in variables.items():
            if job.start:
                variable.setInitialValue(job.start.get(name, 0.0), check=False)
        solver = _solver(job, folder, log)
        try:
            program.solve(solver)
        except pulp.PulpSolverError as error:
            return SolverReport(SolverStatus.FAILED, message=f"CBC failed: {error}")
        return _result(program, log.read_text(errors="replace"))


def _solver(job: SolverJob, folder: str, log: Path) -> pulp.LpSolver:
    solver = pulp.PULP_CBC_CMD(
        msg=False,
        timeLimit=job.time_limit_s,
        gapRel=job.gap,
        threads=job.threads,
        warmStart=bool(job.start),
        logPath=str(log),
    )
    solver.tmpDir = folder
    return solver


def _result(program: pulp.LpProblem, log: str) -> SolverReport:
    """Look at ``sol_status``: PuLP's status says Optimal at a time limit, too."""
    words = pulp.LpSolution[program.sol_status]
    if program.sol_status == pulp.LpSolutionInfeasible:
        return SolverReport(SolverStatus.INFEASIBLE, message=words)
    if program.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return SolverReport(SolverStatus.UNSOLVED, logged_bound(log), message=words)
    values = {v.name: float(v.value()) for v in program.variables() if v.value()}
    objective = float(pulp.value(program.objective))
    if program.sol_status == pulp.LpSolutionOptimal:
        bound = logged_bound(log)
        return SolverReport(
            SolverStatus.OPTIMAL, objective if bound is None else bound, objective, values, words
        )
    return SolverReport(SolverStatus.FEASIBLE, logged_bound(log), objective, values, words)


def logged_bound(log: str) -> float | None:
    """The last lower bound in a log of CBC, None if it proved none."""
    found = _BOUND.findall(log)
    return float(found[-1]) if found else None
