"""What reduces the solvers' programs, against the optimum of small problems."""

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.bounds import bound_of_windows_ns, combinatorial_bound_ns
from surplus.milp.load_cuts import load_cuts
from surplus.milp.reductions import fix_devices
from tests.placement.exhaustive_schedule import instance, optimum

CHUNK = 200


def check_reductions(seed):
    """Bounds, windows, fixings and cuts leave the optimum as it is."""
    problem = instance(seed)
    best = optimum(problem)
    assert combinatorial_bound_ns(problem) <= best.makespan_ns, seed
    windows = fix_devices(problem, best.makespan_ns)
    assert bound_of_windows_ns(problem, windows) <= best.makespan_ns, seed
    ends = []
    for task, (device, start) in enumerate(zip(best.devices, best.starts_ns, strict=True)):
        ends.append(start + problem.tasks[task].service_ns[device])
        assert device in windows.devices[task], seed
        assert windows.head_ns[task][device] <= start, seed
        assert ends[task] + windows.tail_ns[task][device] <= best.makespan_ns, seed
    for cut in load_cuts(problem, windows):
        here = [task for task in cut.tasks if best.devices[task] == cut.device]
        margin = 0 if cut.gated and not here else cut.head_ns + cut.tail_ns
        begin = 0 if cut.after is None else ends[cut.after]
        end = best.makespan_ns if cut.before is None else best.starts_ns[cut.before]
        work = sum(
            problem.tasks[t].service_ns[cut.device] * problem.tasks[t].width(cut.device)
            for t in here
        )
        assert problem.devices[cut.device].lanes * (end - begin - margin) >= work, (seed, cut)


@pytest.mark.parametrize("first", range(0, 1_000, CHUNK))
def test_nothing_cuts_off_the_optimum(first):
    for seed in range(first, first + CHUNK):
        check_reductions(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 20_000, 1_000))
def test_nothing_cuts_off_the_optimum_of_many(first):
    for seed in range(first, first + 1_000):
        check_reductions(seed)


def check_solver(seed, solver):
    problem = instance(seed)
    result = solve(problem, SolveParams(solver, time_limit_s=600, threads=1))
    assert result.status is Status.OPTIMAL
    assert result.makespan_ns == optimum(problem).makespan_ns


@pytest.mark.parametrize("solver", ["cpsat", "highs"])
@pytest.mark.parametrize("seed", range(3, 30, 5))
def test_solvers_find_the_optimum(seed, solver):
    check_solver(seed, solver)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cpsat", "highs"])
@pytest.mark.parametrize("seed", range(100, 200))
def test_solvers_find_the_optimum_of_many(seed, solver):
    check_solver(seed, solver)
