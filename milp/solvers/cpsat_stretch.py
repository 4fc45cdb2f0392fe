"""CP-SAT on a stretch of a plan; the job's model is the stretch in JSON."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from surplus.milp.solvers import Report
from surplus.milp.solvers.cpsat import solved
from surplus.milp.solvers.job import SolverJob, SolverReport
from surplus.milp.stretches.model import StretchModel
from surplus.milp.stretches.stretch import PlanStretch


def run(job: SolverJob, report: Report) -> SolverReport:
    """Build the program and solve it."""
    began_s = monotonic()
    model = StretchModel(PlanStretch.from_json(Path(job.model_path).read_text(encoding="utf-8")))
    # What simplifies it takes longer to find than most of what there is to gain.
    return solved(model, job, report, began_s, hurries=True)
