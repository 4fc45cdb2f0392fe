"""How blocks share threads, plans and bounds; that they find the optimum is in test_series."""

import threading

import pytest

from surplus.milp import SolveParams, Status, chain, solve
from surplus.milp.chain import Chain
from surplus.milp.search import Search
from surplus.milp.series import series_blocks
from surplus.milp.solvers import pool
from surplus.milp.solvers.job import SolverReport, SolverStatus
from surplus.placement import simulate, validate
from surplus.placement.random_graphs import DetectorParams, detector, inception

PROBLEM = inception(3, 4)


def chained(problem, params):
    search = Search(problem, params)
    search.prepare()
    Chain(problem, series_blocks(problem), params).improve(search)
    return search.result()


def test_a_block_that_cannot_be_solved_leaves_what_the_others_gained(monkeypatch):
    # The solver fails at one block only: its known plan is joined with the optima of the others.
    real, failed = pool.SolverPool.run, []

    def run(self, job, progress, *, grace_s):
        if not failed or job.model_path in failed:
            failed.append(job.model_path)
            return SolverReport(SolverStatus.FAILED, message="it crashed")
        return real(self, job, progress, grace_s=grace_s)

    monkeypatch.setattr(pool.SolverPool, "run", run)
    params = SolveParams("cpsat", 30, threads=1)
    search = Search(PROBLEM, params)
    search.prepare()
    before = search.standing.best.makespan_ns
    Chain(PROBLEM, series_blocks(PROBLEM), params).improve(search)
    result = search.result()
    assert failed
    assert result.makespan_ns < before
    assert validate(PROBLEM, result.placement, result.timeline) == []


def test_processes_are_shared_by_all_blocks(monkeypatch):
    started = []
    real = pool.start
    monkeypatch.setattr(pool, "start", lambda worker: started.append(worker) or real(worker))
    result = chained(PROBLEM, SolveParams("cpsat", 60, threads=2))
    assert result.status is Status.OPTIMAL
    assert len(started) <= 2


@pytest.mark.parametrize("threads", [1, 2])
def test_no_more_threads_than_asked_for(monkeypatch, threads):
    running, most, lock = [], [], threading.Lock()
    real = pool._attend

    def attend(process, job, reports):
        with lock:
            running.append(job.threads)
            most.append(sum(running))
        try:
            return real(process, job, reports)
        finally:
            with lock:
                running.remove(job.threads)

    monkeypatch.setattr(pool, "_attend", attend)
    problem = detector(2, DetectorParams(10, 2, 16, 2))
    result = chained(problem, SolveParams("cpsat", 2, threads=threads))
    assert 1 <= max(most) <= threads
    assert validate(problem, result.placement, result.timeline) == []


def test_the_known_plan_is_never_lost():
    warm = solve(PROBLEM, SolveParams("cpsat", 30)).placement
    result = chained(PROBLEM, SolveParams("cpsat", 0.05, threads=1, warm_start=warm))
    assert result.makespan_ns <= simulate(PROBLEM, warm).makespan_ns


def test_ctrl_c_leaves_the_plan_and_no_process(monkeypatch):
    started = []
    real_start, real_wait = pool.start, chain.wait

    def interrupt(running, **limits):
        if not started:
            return real_wait(running, timeout=0.01, return_when=limits["return_when"])
        raise KeyboardInterrupt

    def start(worker):
        started.append(real_start(worker))
        return started[-1]

    monkeypatch.setattr(pool, "start", start)
    monkeypatch.setattr(chain, "wait", interrupt)
    result = solve(PROBLEM, SolveParams("cpsat", 60, threads=2))
    assert result.message == "interrupted"
    assert validate(PROBLEM, result.placement, result.timeline) == []
    assert started
    assert all(process.poll() is not None for process in started)


def test_large_blocks_are_asked_about_for_all_devices_of_their_cuts():
    problem = detector(2, DetectorParams(10, 2, 30, 2))
    result = chained(problem, SolveParams("cpsat", 6, threads=2))
    assert max(len(block.tasks) for block in series_blocks(problem)) > 40
    assert validate(problem, result.placement, result.timeline) == []
    assert result.gap < 0.05
