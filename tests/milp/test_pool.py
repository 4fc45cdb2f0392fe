import sys

import pytest

from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.pool import SolverPool

JOB = SolverJob("highs", "/nowhere.mps", {}, 30.0, 0.0, 1)
SERVE = """
import json, os, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["solver"] == "crash":
        sys.exit("out of memory")
    for bound in (1.0, float(os.getpid())):
        print(json.dumps({"status": "unsolved", "bound": bound}), flush=True)
    print(flush=True)
"""


@pytest.fixture
def pool():
    made = SolverPool(1, (sys.executable, "-c", SERVE))
    yield made
    made.close()


def ask(pool, solver="highs", seen=None):
    job = SolverJob(solver, "/nowhere.mps", {}, 30.0, 0.0, 1)
    return pool.run(job, (seen if seen is not None else []).append, grace_s=30)


def test_one_process_does_job_after_job(pool):
    seen = []
    first, second = ask(pool, seen=seen), ask(pool)
    assert first.status is SolverStatus.UNSOLVED
    assert first.bound == second.bound
    assert [report.bound for report in seen] == [1.0, first.bound]


def test_after_a_crash_there_is_another_process(pool):
    before = ask(pool).bound
    crashed = ask(pool, "crash")
    assert crashed.status is SolverStatus.FAILED
    assert crashed.message.endswith("out of memory")
    assert ask(pool).bound != before


def test_a_solver_that_does_not_stop_is_killed():
    endless = SolverPool(1, (sys.executable, "-c", "while True: pass"))
    job = SolverJob("highs", "/nowhere.mps", {}, 0.05, 0.0, 1)
    report = endless.run(job, print, grace_s=0.05)
    assert report.status is SolverStatus.FAILED
    assert "killed" in report.message
    endless.close()


def test_a_fault_of_the_listener_ends_the_process(pool):
    def fail(report: SolverReport) -> None:
        raise ValueError("wrong bound")

    before = ask(pool).bound
    with pytest.raises(ValueError, match="wrong bound"):
        pool.run(JOB, fail, grace_s=30)
    assert ask(pool).bound != before


def test_nothing_is_started_once_it_was_closed(pool):
    ask(pool)
    pool.close()
    report = ask(pool)
    assert (report.status, report.bound) == (SolverStatus.FAILED, None)
