import sys
from dataclasses import replace

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.bounds import combinatorial_bound_ns
from surplus.milp.solvers.job import SolverReport, SolverStatus
from surplus.placement import (
    ContradictionError,
    Placement,
    Task,
    make_policy,
    policy_names,
    simulate,
    validate,
)
from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.random_graphs import DetectorParams, detector, inception, small_random
from tests.milp.exhaustive import best_makespan_ns
from tests.milp.problems import edge, two_devices
from tests.placement.exhaustive import best_dispatch_ns

MODULE = sys.modules["surplus.milp.search"]
QUICK = SolveParams("highs", time_limit_s=600, threads=1)


def checked(problem, params=QUICK):
    result = solve(problem, params)
    if result.timeline is not None:
        assert validate(problem, result.placement, result.timeline) == []
        assert result.timeline.makespan_ns == result.makespan_ns
        assert simulate(problem, result.placement).makespan_ns == result.held_ns
        free = result.placement.without_holds()
        assert simulate(problem, free).makespan_ns == result.dispatched_ns
        assert result.bound_ns <= result.makespan_ns <= result.dispatched_ns
    assert "fault" not in result.message
    return result


@pytest.mark.parametrize("seed", [3, 6, 11, 12, 13, 14, 18, 24, 52, 82])
def test_small_instances_reach_the_exhaustive_optimum(seed):
    problem = small_random(seed, 5)
    result = checked(problem)
    best = best_makespan_ns(problem)
    assert result.status is Status.OPTIMAL
    assert result.bound_ns <= result.makespan_ns <= best


@pytest.mark.parametrize("seed", range(3))
def test_transfers_on_two_devices_reach_the_exhaustive_optimum(seed):
    problem = inception(seed, 1, 3, 1)
    result = checked(problem)
    assert result.status is Status.OPTIMAL
    assert result.makespan_ns == best_makespan_ns(problem)


def test_equation_4_lets_tasks_run_back_to_back():
    # Printed with <=, one task may not start when the other ends: the optimum would be above 20.
    result = checked(two_devices([(10, None), (10, None)]))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 20)


def test_equation_4_binds_only_tasks_on_the_same_device():
    # Ungated, the two tasks would exclude each other although they are on two devices.
    result = checked(two_devices([(10, None), (None, 10)]))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 10)


def test_equation_5_orders_tasks_on_one_device():
    # Printed for l in D - d only: the second task could start before the first ended.
    result = checked(two_devices([(10, None), (10, None)], [edge(0, 1, size=5)], lanes=(2, 1)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 20)


def test_equation_5_charges_the_way_that_the_data_takes():
    # Printed, Data_ij / Rate_dl: the way back. Ours 10 + (5 + 7) + 10, then the output returns.
    tasks, tensors = [(10, None), (None, 10)], [edge(0, 1, size=7)]
    assert checked(two_devices(tasks, tensors)).makespan_ns == 32


def test_equation_5_charges_nothing_where_the_placement_needs_no_copy():
    # Ungated, the copy of 105 ns is charged although both tasks are on one device.
    result = checked(two_devices([(10, 10), (10, 10)], [edge(0, 1, size=100)]))
    assert result.makespan_ns == 20


def test_tensors_without_bytes_are_not_copied():
    result = checked(two_devices([(10, None), (None, 10)], [edge(0, 1, size=0)]))
    assert result.makespan_ns == 20


def test_a_tensor_is_copied_once_for_all_its_consumers():
    tasks = [(10, None), (None, 10), (None, 10)]
    result = checked(two_devices(tasks, [edge(0, 1, 2, size=20)], lanes=(1, 2)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 10 + 25 + 10)


def test_inputs_come_from_the_host_and_outputs_return():
    tensors = [edge(-1, 0, size=5), edge(0, size=10, output=True)]
    result = checked(two_devices([(None, 10)], tensors))
    assert result.makespan_ns == 10 + 10 + 15


def test_big_m_survives_a_slow_device():
    # With M = upper bound, the 5000 ns of the CPU on the left of a row make it infeasible.
    tasks = [(5000, 10), (5000, 12), (10, 11), (9, 10), (10, 9)]
    result = checked(two_devices(tasks, [edge(0, 4), edge(2, 4)]))
    assert result.status is Status.OPTIMAL
    assert result.makespan_ns == best_makespan_ns(two_devices(tasks, [edge(0, 4), edge(2, 4)]))


def test_lanes_run_side_by_side():
    result = checked(two_devices([(10, None)] * 5, lanes=(2, 1)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 30)


def test_a_wide_task_takes_several_lanes():
    wide = Task("wide", "Op", (10, None), widths=(2, 1))
    result = checked(two_devices([wide, (7, None), (7, None), (3, None)], lanes=(2, 1)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 20)


def test_the_optimum_may_wait_on_purpose():
    # The CPU idles until 5 for the urgent task; a work-conserving runtime takes the long one.
    tasks = [(None, 5), (1, None), (20, None), (None, 30)]
    tensors = [edge(0, 1), edge(1, 3)]
    result = checked(two_devices(tasks, tensors))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 36)
    assert result.dispatched_ns > result.makespan_ns


def test_weights_must_fit():
    heavy = [Task(f"w{i}", "Op", (50, 10), weight_bytes=60) for i in range(2)]
    result = checked(two_devices(heavy, memory_bytes=(None, 100)))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 50)


def test_weights_that_fit_nowhere_are_infeasible():
    heavy = [Task(f"w{i}", "Op", (50, 10), weight_bytes=60) for i in range(3)]
    result = checked(two_devices(heavy, memory_bytes=(100, 60)))
    assert (result.status, result.placement) == (Status.INFEASIBLE, None)


def test_a_time_limit_leaves_a_bound_and_the_best_policys_plan():
    problem = detector(1, DetectorParams(5, 1, 12, 3))
    result = checked(problem, SolveParams(time_limit_s=0.01, threads=1))
    fast = set(policy_names()) - {"anneal", "robust"}  # which search, and judge by other times
    best = min(simulate(problem, make_policy(name).place(problem)).makespan_ns for name in fast)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert combinatorial_bound_ns(problem) <= result.bound_ns <= result.makespan_ns <= best


def test_the_result_is_never_worse_than_the_warm_start():
    problem = inception(0, 2, 3, 2)
    good = checked(problem)
    again = checked(problem, SolveParams(time_limit_s=0.01, warm_start=good.placement))
    assert again.makespan_ns <= good.held_ns


def test_a_warm_start_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="1 devices"):
        solve(two_devices([(1, 1), (1, 1)]), SolveParams(warm_start=Placement((0,), (0,), "x")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit_s": 0}, "time_limit_s must be > 0"),
        ({"time_limit_s": float("nan")}, "time_limit_s must be > 0"),
        ({"gap": 1.0}, "gap must be in"),
        ({"gap": -0.1}, "gap must be in"),
        ({"threads": 0}, "threads must be >= 1"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        SolveParams(**options)


def test_an_unknown_solver_is_named():
    with pytest.raises(ValueError, match="unknown solver 'scip'; there are: auto, cpsat, highs"):
        solve(two_devices([(1, 1)]), SolveParams(solver="scip"))


def test_an_empty_problem_takes_no_time():
    result = checked(two_devices([]))
    assert (result.status, result.makespan_ns, result.gap) == (Status.OPTIMAL, 0, 0.0)


def test_cbc_agrees_with_highs():
    problem = inception(1, 1, 3, 2)
    highs, cbc = checked(problem), checked(problem, SolveParams("cbc", 20, threads=1))
    assert highs.status is cbc.status is Status.OPTIMAL
    assert highs.makespan_ns == cbc.makespan_ns


@pytest.fixture
def unsolved():
    """A problem that no policy's plan proves optimal."""
    return small_random(13, 5)


def test_a_solvers_bound_above_a_plan_fails_and_names_both(monkeypatch, unsolved):
    wrong = SolverReport(SolverStatus.UNSOLVED, bound=1e6)
    monkeypatch.setattr(MODULE, "run_job", lambda job, progress, grace_s: wrong)
    with pytest.raises(ContradictionError, match=r"cpsat: .* 1000000 ns is above a plan of \d+ ns"):
        solve(unsolved, SolveParams("cpsat"))


def test_a_bound_above_a_plan_is_no_proof(monkeypatch, unsolved):
    monkeypatch.setattr(MODULE, "combinatorial_bound_ns", lambda problem: 10**6)
    with pytest.raises(ContradictionError, match=r"1000000 ns is above a plan of \d+ ns"):
        solve(unsolved)


@pytest.mark.parametrize("solver", ["cpsat", "highs"])
def test_lanes_that_speed_each_other_up_leave_no_negative_gap(solver):
    # Half as long side by side: 1500 for both, where their times alone say 3000.
    plain = two_devices([(None, 3_000)] * 2, lanes=(1, 2))
    host, gpu = plain.devices
    problem = replace(plain, devices=(host, replace(gpu, slowdown=(1.0, 0.5))))
    result = checked(problem, SolveParams(solver, time_limit_s=600, threads=1))
    assert (result.makespan_ns, result.bound_ns, result.gap) == (1_500, 1_500, 0.0)


def test_a_false_infeasible_is_reported_and_the_plan_kept(monkeypatch, unsolved):
    wrong = SolverReport(SolverStatus.INFEASIBLE)
    monkeypatch.setattr(MODULE, "run_job", lambda job, progress, grace_s: wrong)
    result = solve(unsolved)
    assert "denies" in result.message
    assert result.placement is not None


def test_a_failed_solver_leaves_the_known_plan(monkeypatch, unsolved):
    failed = SolverReport(SolverStatus.FAILED, message="it crashed")
    monkeypatch.setattr(MODULE, "run_job", lambda job, progress, grace_s: failed)
    result = solve(unsolved)
    assert (result.status, result.message) == (Status.FEASIBLE, "it crashed")


def test_a_proof_outlives_the_solvers_last_words(monkeypatch, unsolved):
    def stopped(job, progress, grace_s):
        # In the units of an integer program the upper bound is 1000.
        return SolverReport(SolverStatus.UNSOLVED, bound=1000.0, message="Time limit reached")

    monkeypatch.setattr(MODULE, "run_job", stopped)
    result = solve(unsolved, SolveParams("highs"))
    assert (result.status, result.message) == (Status.OPTIMAL, "proven by highs")


def test_ctrl_c_returns_what_is_known(monkeypatch, unsolved):
    def interrupt(job, progress, grace_s):
        raise KeyboardInterrupt

    monkeypatch.setattr(MODULE, "run_job", interrupt)
    result = solve(unsolved)
    assert (result.status, result.message) == (Status.FEASIBLE, "interrupted")


def test_plans_for_a_submitting_thread_are_simulated():
    # Without the thread, all three run on the GPU in 6; with it, 14 is what the simulator finds.
    plain = two_devices([(10, 2)] * 3)
    host, gpu = plain.devices
    result = checked(replace(plain, devices=(host, replace(gpu, submit_ns=6))))
    assert (result.makespan_ns, result.dispatched_ns) == (14, 14)
    assert result.status is Status.FEASIBLE
    assert result.left_out == ("submit_ns of 'gpu'",)
    assert "optimal" not in result.message.lower()
    assert "leaves out submit_ns of 'gpu': its bound holds with it" in result.message


def test_lanes_that_are_always_slow_are_planned_exactly():
    # Twice as long as the optimum that waits on purpose, above.
    tasks = [(None, 5), (1, None), (20, None), (None, 30)]
    plain = two_devices(tasks, [edge(0, 1), edge(1, 3)])
    slow = replace(plain, devices=tuple(replace(d, slowdown=(2.0,)) for d in plain.devices))
    result = checked(slow)
    assert (result.status, result.makespan_ns, result.left_out) == (Status.OPTIMAL, 72, ())


def test_plans_wait_for_the_pinned_pool():
    # The pool holds one of the copies of 20 and 5: the second leaves at 25, not at 20.
    tensors = [edge(-1, 0, size=20), edge(-1, 1, size=19)]
    plain = two_devices([(None, 1), (None, 1)], tensors, lanes=(1, 2))
    links = (replace(plain.links[0], staging_bytes=20), plain.links[1])
    assert checked(plain).makespan_ns == 20 + 19 + 5 + 1
    result = checked(replace(plain, links=links))
    assert result.makespan_ns == 20 + 5 + 19 + 5 + 1
    assert result.left_out == ("staging_bytes of host->gpu",)


def test_a_plan_that_meets_the_bound_is_optimal_whatever_is_left_out():
    # Submitting takes no time that counts: the CPU alone bounds the plan.
    plain = two_devices([(10, None), (None, 2)])
    host, gpu = plain.devices
    result = checked(replace(plain, devices=(host, replace(gpu, submit_ns=6))))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 10)
    assert "a known plan meets the lower bound; the model leaves out" in result.message


@pytest.mark.parametrize("solver", ["cpsat", "highs"])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_with_all_that_is_left_out(seed, solver):
    problem = small_disturbed(seed, 4)
    result = checked(problem, SolveParams(solver, time_limit_s=600, threads=1))
    assert result.bound_ns <= best_dispatch_ns(problem)
    assert (result.left_out == ()) == ("leaves out" not in result.message)
    if result.status is Status.FEASIBLE:
        assert result.left_out
