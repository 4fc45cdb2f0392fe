"""The solvers on several GPUs, each with a memory of its own."""

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.throughput.search import solve_throughput
from surplus.placement import make_policy, memory_use, simulate, validate
from tests.placement.several_gpus import chain_too_large_for_one, on_gpus

SOLVERS = pytest.mark.parametrize("solver", ["highs", "cpsat"])


def solved(problem, solver):
    result = solve(problem, SolveParams(solver, time_limit_s=600, threads=1))
    assert validate(problem, result.placement, result.timeline) == []
    return result


@SOLVERS
@pytest.mark.parametrize("gpus", [2, 3])
def test_branches_are_shared_out_optimally(solver, gpus):
    # Six of 10 us side by side: a third or half of them on each, and nobody waits for copies.
    result = solved(on_gpus(gpus, [(900_000, 10_000)] * 6), solver)
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 60_000 / gpus)


@SOLVERS
def test_a_model_too_large_for_one_is_cut_where_it_costs_least(solver):
    # 8 tasks of 10 us in a row, 4 on each: one copy of 1 us and a byte's time is what it takes.
    problem = chain_too_large_for_one(2)
    result = solved(problem, solver)
    one_copy_ns = problem.links[0].copy_ns(1)
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 8 * 10_000 + one_copy_ns)
    used = memory_use(problem, result.placement, result.timeline)
    for device in problem.devices[1:]:
        assert used[device.memory].peak_bytes <= device.memory_bytes


def test_the_default_policy_is_near_that_optimum():
    problem = chain_too_large_for_one(2)
    placed = simulate(problem, make_policy("auto").place(problem)).makespan_ns
    assert placed <= 1.1 * solved(problem, "cpsat").bound_ns


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_for_throughput_each_has_its_share(gpus):
    problem = on_gpus(gpus, [(900_000, 10_000)] * 8)
    found = solve_throughput(problem, SolveParams(time_limit_s=600, threads=1))
    assert (found.status, found.load_ns) == (Status.OPTIMAL, 80_000 / gpus)
