"""Searches ask a solver's process that runs already: each start takes most of a second of CPU time.

Tests of processes, of what they cost and of Ctrl-C start their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from surplus.milp import search
from surplus.milp.solvers.job import SolverJob, SolverReport
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.solvers.process import GRACE_S
from surplus.milp.throughput import search as throughput_search


@pytest.fixture(scope="session")
def running_solver() -> Iterator[SolverPool]:
    pool = SolverPool(1)
    yield pool
    pool.close()


@pytest.fixture(autouse=True)
def searches_ask_it(monkeypatch: pytest.MonkeyPatch, running_solver: SolverPool) -> None:
    def ask(
        job: SolverJob, progress: Callable[[SolverReport], None], *, grace_s: float = GRACE_S
    ) -> SolverReport:
        return running_solver.run(job, progress, grace_s=grace_s)

    monkeypatch.setattr(search, "run_job", ask)
    monkeypatch.setattr(throughput_search, "run_job", ask)
