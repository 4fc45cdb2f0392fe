"""What a search may hold in memory: its own steps, and solvers that take more than they may."""

import subprocess
import sys
from math import inf
from subprocess import PIPE

import pytest

from surplus.milp import SolveParams, Status, memory_limit, solve
from surplus.milp.cli import main
from surplus.milp.footprint import bounds_bytes, program_bytes
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.search import Search
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.solvers.process import run_job
from surplus.placement import lower_bounds
from surplus.placement.process_memory import resident_bytes
from surplus.placement.random_graphs import DetectorParams, detector, small_random

MIB = 1 << 20
HELD = 100 * MIB
JOB = SolverJob("highs", "/nowhere.mps", {}, 60.0, 0.0, 1, memory_bytes=100 * MIB)
REPORT = SolverReport(SolverStatus.UNSOLVED, bound=7.5)
GREEDY = f"""import sys, time
sys.stdin.readline()
print({REPORT.to_json()!r}, flush=True)
held = b"x" * {300 * MIB}
time.sleep(60)
"""
GROWING = f"""import sys
print("small", flush=True)
sys.stdin.readline()
held = b"x" * {50 * MIB}
print("large", flush=True)
sys.stdin.read()
"""
PROBLEM = detector(1, DetectorParams(12, 1, 20, 2))


@pytest.fixture
def held(monkeypatch):
    """This process holds 100 MiB, whatever it does."""
    monkeypatch.setattr(memory_limit, "resident_bytes", lambda process="self": HELD)


def test_what_is_left_is_what_this_process_does_not_hold(held):
    limit = MemoryLimit(HELD + 50)
    assert (limit.left_bytes, limit.share_bytes(0.5)) == (50, 25)
    assert limit.fault("a step", 50) is None
    assert limit.fault("a step", 51) == (
        "a step takes about 51 bytes: of the memory limit of 100 MiB there is 50 bytes left for it"
    )
    assert limit.fault("a step", 26, share=0.5)
    assert MemoryLimit(HELD - 1).left_bytes == 0


def test_without_a_limit_there_is_room_for_everything(held):
    limit = MemoryLimit()
    assert (limit.left_bytes, limit.share_bytes(0.5)) == (inf, 0)
    assert limit.fault("a step", 1e30) is None


def test_a_process_is_seen_to_grow():
    process = subprocess.Popen((sys.executable, "-c", GROWING), stdin=PIPE, stdout=PIPE)
    with process as grows:
        assert grows.stdin is not None
        assert grows.stdout is not None
        assert grows.stdout.readline() == b"small\n"
        before = resident_bytes(grows.pid)
        grows.stdin.write(b"grow\n")
        grows.stdin.flush()
        assert grows.stdout.readline() == b"large\n"
        assert resident_bytes(grows.pid) - before > 40 * MIB
        grows.stdin.close()


def test_a_process_that_ended_holds_nothing():
    assert resident_bytes() > 0
    assert resident_bytes(2**31 - 1) == 0


def test_a_solver_that_takes_more_is_ended_and_leaves_its_bound():
    report = run_job(JOB, worker=(sys.executable, "-c", GREEDY))
    assert (report.status, report.bound) == (SolverStatus.FAILED, 7.5)
    assert report.message.endswith("killed at its memory limit of 100 MiB")


def test_so_is_one_of_a_pool():
    pool = SolverPool(1, (sys.executable, "-c", GREEDY))
    try:
        report = pool.run(JOB, lambda report: None, grace_s=5.0)
    finally:
        pool.close()
    assert (report.status, report.bound) == (SolverStatus.FAILED, 7.5)
    assert "memory limit of 100 MiB" in report.message


def test_a_solver_for_which_there_is_no_room_is_not_asked(held):
    def ask(job, progress, *, grace_s):
        raise AssertionError("it was asked")

    params = SolveParams("cpsat", 2, memory_bytes=HELD + program_bytes("cpsat", PROBLEM, 2) - 1)
    search = Search(PROBLEM, params, ask=ask)
    search.prepare()
    search.run()
    result = search.result()
    assert result.status is Status.FEASIBLE
    assert "cpsat's program takes about" in result.message
    assert result.bound_ns >= lower_bounds(PROBLEM).makespan_ns


def test_what_is_left_is_shared_out_among_solvers(held):
    asked = []

    def ask(job, progress, *, grace_s):
        asked.append(job.memory_bytes)
        return SolverReport(SolverStatus.FAILED)

    params = SolveParams("cpsat", 2, threads=4, memory_bytes=HELD + 4000 * MIB)
    search = Search(PROBLEM, params, ask=ask)
    search.prepare()
    search.run(threads=1)
    assert asked == [1000 * MIB]


def test_bounds_for_which_there_is_no_room_are_left_out_and_named(held):
    params = SolveParams("cpsat", 2, memory_bytes=HELD + bounds_bytes(PROBLEM) - 1)
    result = solve(PROBLEM, params)
    assert result.bound_ns >= lower_bounds(PROBLEM).makespan_ns
    assert "left out: windows of tasks takes about" in result.message
    assert result.makespan_ns


def test_a_limit_that_is_used_up_before_anything_was_done_is_refused():
    with pytest.raises(ValueError, match="memory limit 1 bytes: this process holds"):
        solve(small_random(1, 3), SolveParams(memory_bytes=1))
    with pytest.raises(ValueError, match="memory_bytes must be >= 1, got 0"):
        SolveParams(memory_bytes=0)


@pytest.mark.parametrize(
    ("size", "line"),
    [
        ("much", "milp: error: size 'much' is not understood"),
        ("0GiB", "milp: error: size '0GiB' is less than a byte"),
        ("1kB", "milp: error: memory limit 1000 bytes: this process holds"),
    ],
)
def test_the_option_is_refused_in_one_line(size, line, tmp_path, capsys):
    path = tmp_path / "problem.json"
    path.write_text(small_random(1, 3).to_json())
    assert main([str(path), "--memory", size]) == 2
    assert capsys.readouterr().err.startswith(line)


def test_a_search_within_its_limit_says_nothing(tmp_path, capsys):
    path = tmp_path / "problem.json"
    path.write_text(small_random(1, 3).to_json())
    assert main([str(path), "--memory", "64GiB", "--time", "20"]) == 0
    assert "memory" not in capsys.readouterr().out
