"""Moldable tasks in the solvers' programs, in blocks and in folded problems."""

from dataclasses import replace

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.bounds import bound_of_windows_ns, combinatorial_bound_ns
from surplus.milp.chain import Chain
from surplus.milp.reductions import fix_devices
from surplus.milp.search import Search
from surplus.milp.series import series_blocks
from surplus.milp.throughput.search import solve_throughput
from surplus.placement import lower_bounds, make_policy, simulate, validate
from surplus.placement.occupancy import busiest_of
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception
from surplus.placement.random_widths import with_widths
from surplus.placement.stored_schedule_check import stored_faults
from surplus.placement.widths import is_moldable, narrow
from tests.placement.exhaustive_schedule import instance
from tests.placement.test_widths import best_of_widths, moldable

pytest.importorskip("ortools")
LANES = MachineParams(4, 2)


def small(seed):
    """Two or three tasks on two devices."""
    return with_widths(instance(5 * (seed // 2) + seed % 2), seed)


def checked(problem, params):
    result = solve(problem, params)
    assert validate(problem, result.placement, result.timeline) == []
    free = result.placement.without_holds()
    assert simulate(problem, free).makespan_ns == result.dispatched_ns
    assert simulate(problem, result.placement).makespan_ns == result.held_ns
    assert stored_faults(problem, result.to_json(problem)) == []
    return result


def test_one_wide_before_two_narrow_ones_is_proven():
    problem = moldable((10, 6), (10, 6), (10, 6))
    result = checked(problem, SolveParams("cpsat", 600))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 16)
    assert sorted(result.placement.width_of) == [1, 1, 2]


@pytest.mark.parametrize("seed", range(3, 60, 4))
def test_the_optimum_over_all_widths_is_found(seed):
    result = checked(small(seed), SolveParams("cpsat", 60, threads=1))
    best, _ = best_of_widths(small(seed))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, best.makespan_ns)


@pytest.mark.parametrize("seed", range(80))
def test_reductions_keep_the_optimum_over_all_widths(seed):
    problem = small(seed)
    best, _ = best_of_widths(problem)
    assert combinatorial_bound_ns(problem) <= best.makespan_ns
    windows = fix_devices(problem, best.makespan_ns)
    assert bound_of_windows_ns(problem, windows) <= best.makespan_ns
    for task, device in enumerate(best.devices):
        assert device in windows.devices[task]


def test_blocks_are_joined_at_the_widths_that_were_found():
    problem = with_widths(inception(2, 8, machine=LANES), 2)
    assert len(series_blocks(problem)) > 4
    params = SolveParams("cpsat", 600)
    search = Search(problem, params)
    search.prepare()
    Chain(problem, series_blocks(problem), params).improve(search)
    result = search.result()
    assert validate(problem, result.placement, result.timeline) == []
    assert result.gap < 0.02
    fixed = solve(narrow(problem), params)
    assert result.makespan_ns < fixed.bound_ns


def test_a_folded_problem_keeps_widths():
    problem = with_widths(detector(2, DetectorParams(12, 1, 20, 2), LANES), 3)
    result = checked(problem, SolveParams("cpsat", 3))
    assert result.placement.width_of


def test_a_warm_start_has_widths():
    problem = with_widths(inception(3, 4, machine=LANES), 1)
    start = make_policy("anneal").place(problem)
    assert start.width_of
    result = checked(problem, SolveParams("cpsat", 2, warm_start=start))
    assert result.makespan_ns <= simulate(problem, start).makespan_ns


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_integer_programs_refuse_several_widths_by_the_name_of_the_task(solver):
    pytest.importorskip("pulp")
    problem = moldable((10, 10), (10, 6), (7, 5), (3, 2))
    result = solve(problem, SolveParams(solver, 2))
    assert f"task 't0' has several widths: {solver}'s program has one" in result.message
    assert result.bound_ns == lower_bounds(problem).makespan_ns <= result.makespan_ns


@pytest.mark.parametrize("seed", range(4))
def test_the_least_load_is_that_of_the_widths_of_least_lane_time(seed):
    problem = with_widths(inception(seed, 3, machine=LANES), seed)
    # Twice as fast as linear on two lanes, once in a while: a wide task is less work.
    tasks = [
        replace(task, wider_ns=tuple(tuple((n, ns // 3) for n, ns in row) for row in task.wider_ns))
        for task in problem.tasks
    ]
    problem = replace(problem, tasks=tuple(tasks))
    assert is_moldable(problem)
    found = solve_throughput(problem, SolveParams(time_limit_s=600))
    assert found.status is Status.OPTIMAL
    assert busiest_of(problem, found.placement)[1] == found.load_ns
    assert found.load_ns < solve_throughput(narrow(problem), SolveParams(time_limit_s=600)).load_ns
