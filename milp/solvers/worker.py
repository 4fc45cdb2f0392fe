"""The solver's process: jobs on stdin, reports on stdout, a line each.

Run as ``python -m surplus.milp.solvers.worker`` by ``surplus.milp.solvers.process`` for one job,
and with ``--many`` by ``surplus.milp.solvers.pool`` for job after job, each ended by an empty line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import Lock

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.solvers import load_solver
from surplus.milp.solvers.job import MANY, SolverJob, SolverReport, SolverStatus


def main() -> int:
    """Solve one job, or all that come."""
    # Solvers print to the process's stdout; the reports keep a channel of their own.
    with os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8") as channel:
        os.dup2(2, 1)
        if MANY not in sys.argv[1:]:
            return 0 if _solve(sys.stdin.read(), channel.write) else 1
        for line in sys.stdin:
            _solve(line, channel.write)
            channel.write("\n")
    return 0


def _solve(text: str, write: Callable[[str], object]) -> bool:
    """One job; whether its solver could be used."""
    # Solvers report from several threads.
    lock = Lock()

    def report(state: SolverReport) -> None:
        with lock:
            write(state.to_json() + "\n")

    job = SolverJob.from_json(text)
    try:
        report(load_solver(job.solver).run(job, report))
    except (SolverUnavailableError, ImportError) as error:
        report(SolverReport(SolverStatus.FAILED, message=str(error)))
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
