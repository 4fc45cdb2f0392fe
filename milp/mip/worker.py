"""The solver's process: a job on stdin, reports on stdout, a line each.

Run as ``python -m milp.mip.worker`` by ``milp.mip.process``.
"""

from __future__ import annotations

import os
import sys

from milp.errors import SolverUnavailableError
from milp.mip.job import MipJob, MipReport, MipStatus
from milp.mip.solvers import load_solver


def main() -> int:
    """Solve one job."""
    # Solvers print to the process's stdout; the reports keep a channel of their own.
    with os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8") as channel:
        os.dup2(2, 1)

        def report(state: MipReport) -> None:
            channel.write(state.to_json() + "\n")

        job = MipJob.from_json(sys.stdin.read())
        try:
            report(load_solver(job.solver).run(job, report))
        except (SolverUnavailableError, ImportError) as error:
            report(MipReport(MipStatus.FAILED, message=str(error)))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
