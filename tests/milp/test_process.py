import sys

from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import run_job

JOB = SolverJob("highs", "/nowhere.mps", {}, 0.05, 0.0, 1)
REPORT = SolverReport(SolverStatus.UNSOLVED, bound=7.5)


def worker(code):
    prelude = f"import os, sys, time\nsys.stdin.read()\nline = {REPORT.to_json()!r}\n"
    return (sys.executable, "-c", prelude + code)


def test_reports_survive_the_way_through_json():
    report = SolverReport(SolverStatus.FEASIBLE, 1.5, 2.5, {"x": 1.0}, "text")
    assert SolverReport.from_json(report.to_json()) == report
    assert SolverJob.from_json(JOB.to_json()) == JOB


def test_a_crash_leaves_the_last_bound():
    report = run_job(JOB, worker=worker("print(line, flush=True)\nos.abort()"), grace_s=30)
    assert (report.status, report.bound) == (SolverStatus.FAILED, 7.5)
    assert "exit status -6" in report.message


def test_its_last_words_are_told():
    report = run_job(JOB, worker=worker("sys.exit('out of memory')"), grace_s=30)
    assert report.message.endswith("out of memory")


def test_a_solver_that_does_not_stop_is_killed_and_leaves_its_bound():
    endless = "print(line, flush=True)\nwhile True: time.sleep(1)"
    report = run_job(JOB, worker=worker(endless), grace_s=1.5)
    assert (report.status, report.bound) == (SolverStatus.FAILED, 7.5)
    assert "killed" in report.message


def test_progress_is_passed_on():
    seen = []
    run_job(JOB, seen.append, worker("print(line, flush=True)"), grace_s=30)
    assert seen == [REPORT]


def test_a_missing_module_is_reported_by_the_worker(monkeypatch):
    job = SolverJob("gone", "/nowhere.mps", {}, 5.0, 0.0, 1)
    report = run_job(job)
    assert report.status is SolverStatus.FAILED
    assert "surplus.milp.solvers.gone" in report.message
