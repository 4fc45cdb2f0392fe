"""The solver's process: a job on stdin, reports on stdout, a line each.

Run as ``python -m surplus.milp.solvers.worker`` by ``surplus.milp.solvers.process``.
"""

from __future__ import annotations

import os
import sys

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.solvers import load_solver
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus


def main() -> int:
    """Solve one job."""
    # Solvers print to the process's stdout; the reports keep a channel of their own.
    with os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8") as channel:
        os.dup2(2, 1)

        def report(state: SolverReport) -> None:
            channel.write(state.to_json() + "\n")

        job = SolverJob.from_json(sys.stdin.read())
        try:
            report(load_solver(job.solver).run(job, report))
        except (SolverUnavailableError, ImportError) as error:
            report(SolverReport(SolverStatus.FAILED, message=str(error)))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
