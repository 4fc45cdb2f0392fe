"""CP-SAT on the program of the least load; the job's model is a problem in JSON."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from surplus.milp.solvers import Report
from surplus.milp.solvers.cpsat import solved
from surplus.milp.solvers.job import SolverJob, SolverReport
from surplus.milp.throughput.model import LoadModel
from surplus.placement.problem import Problem


def run(job: SolverJob, report: Report) -> SolverReport:
    """Build the program and solve it."""
    began_s = monotonic()
    model = LoadModel(Problem.from_json(Path(job.model_path).read_text(encoding="utf-8")))
    return solved(model, job, report, began_s)
