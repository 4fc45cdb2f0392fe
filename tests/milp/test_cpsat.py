import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.block_question import BlockQuestion
from surplus.milp.bounds import combinatorial_bound_ns
from surplus.milp.cpsat import formulation
from surplus.milp.cpsat.formulation import CpFormulation
from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.deadline import Deadline
from surplus.milp.plan_search import PlanSearch
from surplus.milp.reductions import reduce_problem
from surplus.milp.search import Search
from surplus.milp.series import series_blocks
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.solvers.process import run_job
from surplus.milp.starts import known_incumbents
from surplus.placement import Device, Link, Problem, Task, Tensor, validate
from surplus.placement.random_graphs import DetectorParams, detector, inception, small_random
from tests.milp.exhaustive import best_makespan_ns
from tests.milp.problems import edge, two_devices

pytest.importorskip("ortools")
QUICK = SolveParams("cpsat", 600)


def checked(problem, params=QUICK):
    result = solve(problem, params)
    if result.timeline is not None:
        assert validate(problem, result.placement, result.timeline) == []
        assert result.bound_ns <= result.makespan_ns
    assert "fault" not in result.message
    assert "failed" not in result.message
    return result


@pytest.mark.parametrize("seed", [3, 6, 12, 18, 82])
def test_small_instances_reach_the_exhaustive_optimum(seed):
    problem = small_random(seed, 5)
    result = checked(problem)
    assert result.status is Status.OPTIMAL
    assert result.bound_ns <= result.makespan_ns <= best_makespan_ns(problem)


def test_transfers_reach_the_exhaustive_optimum():
    problem = inception(1, 1, 3, 1)
    result = checked(problem)
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, best_makespan_ns(problem))


def test_a_detector_of_thirty_tasks_is_proven_optimal():
    problem = detector(0, DetectorParams(5, 1, 9, 2))
    result = checked(problem, SolveParams("cpsat", 60))
    assert len(problem.tasks) == 30
    assert result.status is Status.OPTIMAL
    assert "proven by cpsat" in result.message


def test_wide_tasks_take_several_lanes():
    wide = Task("wide", "Op", (10, None), widths=(2, 1))
    result = checked(two_devices([wide, (7, None), (7, None), (3, None)], lanes=(2, 1)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 20)


def test_the_optimum_may_wait_on_purpose():
    tasks = [(None, 5), (1, None), (20, None), (None, 30)]
    result = checked(two_devices(tasks, [edge(0, 1), edge(1, 3)]))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 36)


def test_tasks_of_no_length_need_a_lane():
    # Both lanes are held from 0 to 10, or the chain over the GPU starts 10 later.
    tasks = [(10, None), (10, None), (0, None), (None, 10), (5, None)]
    problem = two_devices(tasks, [edge(2, 3), edge(3, 4)], lanes=(2, 1))
    result = checked(problem)
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, best_makespan_ns(problem))


def test_copies_over_one_link_queue():
    # Two copies of 10 ns each hold the link one after the other, each 1 ns late.
    devices = (Device("cpu", 2, "host"), Device("gpu", 2, "gpu"))
    links = (Link("host", "gpu", 1, 1e9), Link("gpu", "host", 1, 1e9))
    tasks = [Task(f"a{i}", "Op", (5, None)) for i in range(2)]
    tasks += [Task(f"b{i}", "Op", (None, 4), default_device=1) for i in range(2)]
    tensors = tuple(Tensor(f"x{i}", i, (i + 2,), 10) for i in range(2))
    result = checked(Problem("queue", devices, links, tuple(tasks), tensors))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 5 + 20 + 1 + 4)


def test_weights_must_fit():
    heavy = [Task(f"w{i}", "Op", (50, 10), weight_bytes=60) for i in range(2)]
    result = checked(two_devices(heavy, memory_bytes=(None, 100)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 50)


def test_weights_that_fit_nowhere_are_infeasible():
    heavy = [Task(f"w{i}", "Op", (50, 10), weight_bytes=60) for i in range(3)]
    result = checked(two_devices(heavy, memory_bytes=(100, 60)))
    assert (result.status, result.placement) == (Status.INFEASIBLE, None)


def test_a_time_limit_leaves_a_bound_and_a_plan():
    problem = detector(1, DetectorParams(5, 1, 12, 3))
    result = checked(problem, SolveParams("cpsat", 0.01, threads=1))
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert combinatorial_bound_ns(problem) <= result.bound_ns


@pytest.mark.parametrize("seed", [6, 13])
def test_coarse_units_keep_the_bound_valid(monkeypatch, seed):
    problem = small_random(seed, 5)
    monkeypatch.setattr(formulation, "SPAN_MAX", 10)
    result = checked(problem)
    assert result.bound_ns <= best_makespan_ns(problem)


def test_units_are_nanoseconds_up_to_a_second():
    def unit_ns(time_ns):
        problem = two_devices([(time_ns - 1, None), (1, None)])
        return CpFormulation(problem, reduce_problem(problem, time_ns)).unit_ns

    assert (unit_ns(10**9), unit_ns(10**9 + 1), unit_ns(10**12)) == (1.0, 2.0, 1000.0)


@pytest.mark.parametrize("gpu", ["gpu", "a->b"])
def test_a_known_plan_survives_the_way_there_and_back(gpu):
    problem = Problem.from_json(inception(0, 1, 3, 2).to_json().replace('"gpu"', f'"{gpu}"'))
    for known in known_incumbents(problem, None):
        program = CpFormulation(problem, reduce_problem(problem, known.makespan_ns))
        decoded = program.decode(program.start_values(known.placement, known.timeline))
        assert tuple(decoded.device_of) == known.placement.device_of
        tasks = {s.index: s.start_ns for s in known.timeline if s.kind == "task"}
        copies = {s.index: s.start_ns for s in known.timeline if s.kind == "copy"}
        assert dict(enumerate(decoded.starts_ns)) == tasks
        assert {c.tensor: start for c, start in decoded.copy_starts_ns.items()} == copies


def test_instances_survive_the_way_through_json():
    instance = CpSatInstance(small_random(1, 6), 12_345, 10, lower_ns=678)
    assert CpSatInstance.from_json(instance.to_json()) == instance
    assert instance.scaled(19) == 1


def test_a_program_begins_with_the_bound_that_is_known():
    problem, seen = detector(1, DetectorParams(5, 1, 6, 1)), []

    def ask(job, progress, *, grace_s):
        seen.append(CpSatInstance.from_json(Path(job.model_path).read_text()).lower_ns)
        # Of a solver that is stopped before it has a bound of its own.
        return replace(run_job(replace(job, time_limit_s=1e-3)), status=SolverStatus.UNSOLVED)

    search = Search(problem, SolveParams("cpsat", 600), ask=ask)
    search.prepare()
    proven = search.standing.bound_ns + 100
    assert proven < search.standing.best.makespan_ns
    search.standing.raise_bound(proven)
    search.run()
    assert seen == [proven]


def test_no_plan_is_lost_by_a_bound_that_it_meets(tmp_path):
    problem, path = small_random(6, 5), tmp_path / "instance.json"
    optimum = checked(problem).makespan_ns
    for unit_ns in (1, 7):
        path.write_text(CpSatInstance(problem, optimum, unit_ns, lower_ns=optimum).to_json())
        report = run_job(SolverJob("cpsat", str(path), {}, 20.0, 0.0, 1))
        assert (report.status, report.objective) == (SolverStatus.OPTIMAL, optimum // unit_ns)


@pytest.mark.parametrize("seed", [3, 6, 12])
def test_a_bound_that_climbs_meets_the_optimum(tmp_path, seed):
    problem, path = small_random(seed, 5), tmp_path / "instance.json"
    optimum = checked(problem).makespan_ns
    path.write_text(CpSatInstance(problem, 2 * optimum, 1, lower_ns=0).to_json())
    report = run_job(SolverJob("cpsat", str(path), {}, 20.0, 0.0, 1, climbs=True))
    assert (report.status, report.objective) == (SolverStatus.OPTIMAL, optimum)


def test_a_large_block_is_asked_for_a_bound_alone_every_other_time_from_the_third_on(monkeypatch):
    problem, seen = detector(1, DetectorParams(20, 3, 16, 6)), []
    monkeypatch.setattr(PlanSearch, "improve", lambda *_, **__: None)  # takes half of the time

    def ask(job, progress, *, grace_s):
        seen.append(job.climbs)
        return SolverReport(SolverStatus.UNSOLVED, 0.0)

    block = max(series_blocks(problem), key=lambda block: len(block.tasks))
    question = BlockQuestion(problem, block, 0, frozenset({(0, 0, 0)}), QUICK, ask)
    for _ in range(5):
        question.run(Deadline.after(20), None, {})
    assert seen == [False, False, True, False, True]


def test_presolving_removes_no_plan():
    # OR-Tools 9.15 once took one away and called what was left optimal. OR-Tools in a process of
    # its own, as everywhere.
    code = """
from ortools.sat.python import cp_model
from surplus.milp.solvers import cpsat
from surplus.milp.solvers.job import SolverJob
solver = cp_model.CpSolver()
cpsat._set_options(solver, SolverJob("cpsat", "", {}, 1.0, 0.0, 1))
cpsat._hurry(solver)
assert solver.parameters.keep_all_feasible_solutions_in_presolve
"""
    subprocess.run([sys.executable, "-c", code], check=True)
