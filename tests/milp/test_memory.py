from dataclasses import replace
from random import Random

import pytest

from surplus.milp import SolveParams, Status, plan_search, solve
from surplus.milp.deadline import Deadline
from surplus.milp.incumbent import Incumbent
from surplus.milp.memory import MemoryRoom, knapsacks
from surplus.milp.memory_limit import MemoryLimit
from surplus.milp.plan_search import PlanSearch
from surplus.milp.standing import Standing
from surplus.placement import Blob, Task, make_policy, memory_use, simulate, validate
from surplus.placement.evaluator import makespan_ns
from surplus.placement.random_graphs import DetectorParams, detector, small_random
from tests.milp.exhaustive import best_makespan_ns
from tests.milp.problems import edge, two_devices
from tests.placement.limited_problems import with_limits, with_weights

SOLVERS = pytest.mark.parametrize("solver", ["highs", "cpsat"])


def checked(problem, solver):
    """The answer, of which everything is judged by others."""
    result = solve(problem, SolveParams(solver, time_limit_s=600, threads=1))
    if result.timeline is not None:
        assert validate(problem, result.placement, result.timeline) == []
        assert result.bound_ns <= result.makespan_ns
    assert "fault" not in result.message
    return result


def limited(seed):
    """A small problem with constants, and a second memory that seldom holds everything."""
    random = Random(seed)
    problem = small_random(seed, 5, 2)
    blobs = (Blob("w0", random.randint(1, 300)),)
    tasks = []
    for task in problem.tasks:
        held = (0,) if random.random() < 0.4 else ()
        size = random.choice([0, 0, 200]) + blobs[0].size_bytes * len(held)
        tasks.append(replace(task, weight_bytes=size, blobs=held))
    devices = (
        replace(problem.devices[0], memory="host"),
        replace(problem.devices[1], memory="gpu", memory_bytes=random.randint(0, 900)),
    )
    links = two_devices([(1, 1)]).links
    return replace(problem, devices=devices, links=links, tasks=tuple(tasks), blobs=blobs)


@SOLVERS
@pytest.mark.parametrize("seed", range(12))
def test_small_instances_agree_with_the_exhaustive_search(solver, seed):
    problem = limited(seed)
    result = checked(problem, solver)
    best = best_makespan_ns(problem)
    if best is None:
        assert result.status in (Status.INFEASIBLE, Status.BOUND_ONLY)
    else:
        assert result.status is not Status.INFEASIBLE
        assert result.bound_ns <= best
    if result.status is Status.OPTIMAL:
        assert result.makespan_ns <= best


@SOLVERS
def test_constants_alone_are_solved_to_the_optimum(solver):
    # w of 60 is needed by two tasks: both on the GPU hold it once, beside the 30 of one of them.
    tasks = [
        Task("a", "Op", (50, 10), weight_bytes=90, blobs=(0,)),
        Task("b", "Op", (50, 10), weight_bytes=60, blobs=(0,)),
        Task("c", "Op", (40, 10), weight_bytes=60),
    ]
    hand = two_devices([], memory_bytes=(None, 100))
    problem = replace(hand, tasks=tuple(tasks), blobs=(Blob("w", 60),))
    result = checked(problem, solver)
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 40)
    assert result.placement.device_of == (1, 1, 0)
    assert best_makespan_ns(problem) == 40


@SOLVERS
def test_the_data_of_one_task_rules_it_out(solver):
    problem = two_devices([(500, 10)], [edge(-1, 0, size=30), edge(0, size=30, output=True)])
    room, less = (two_devices([], memory_bytes=(None, b)).devices for b in (60, 59))
    roomy = checked(replace(problem, devices=room), solver)
    tight = checked(replace(problem, devices=less), solver)
    assert (roomy.status, roomy.placement.device_of) == (Status.OPTIMAL, (1,))
    assert (tight.status, tight.placement.device_of) == (Status.OPTIMAL, (0,))
    forced = two_devices([(None, 10)], problem.tensors, memory_bytes=(None, 59))
    result = checked(forced, solver)
    assert result.status is Status.INFEASIBLE
    assert "'gpu' has 59 bytes" in result.message
    assert "at least 60 bytes" in result.message


@SOLVERS
def test_a_plan_that_the_order_overfills_is_not_called_optimal(solver):
    # Two lanes run both at once: 2 x 40 bytes. In turn they fit, which no program here knows.
    tasks = [(None, 10), (None, 10), (5, None)]
    tensors = [edge(0, 2, size=40), edge(1, 2, size=40)]
    problem = two_devices(tasks, tensors, lanes=(1, 2), memory_bytes=(None, 79))
    result = checked(problem, solver)
    assert result.status is not Status.OPTIMAL
    assert result.status is not Status.INFEASIBLE


def test_safe_room_holds_in_any_order():
    problem = limited(7)
    (sack,) = knapsacks(problem, MemoryRoom.SAFE)
    placement = solve(problem, SolveParams("highs", time_limit_s=600, threads=1)).placement
    there = {i for i, d in enumerate(placement.device_of) if problem.devices[d].memory == "gpu"}
    safe = sum(size for i, size in sack.own_bytes.items() if i in there)
    safe += sum(item.size_bytes for item in sack.items if item.always or there & {*item.holders})
    use = memory_use(problem, placement, simulate(problem, placement))["gpu"]
    assert use.peak_bytes <= safe


def test_limits_that_everything_fits_are_no_knapsacks():
    tasks = [Task("a", "Op", (5, 1), weight_bytes=60)]
    assert list(knapsacks(two_devices(tasks, memory_bytes=(None, 60)), MemoryRoom.NEEDED)) == []
    assert len(list(knapsacks(two_devices(tasks, memory_bytes=(None, 59)), MemoryRoom.NEEDED))) == 1


def test_plans_that_memories_limit_are_annealed_but_not_by_stretches(monkeypatch):
    problem = with_weights(detector(1, DetectorParams(60, 6, 80, 5)), 1)
    held = sum(task.weight_bytes for task in problem.tasks) // 3
    problem = with_limits(problem, gpu=held + 9_000_000)
    params = SolveParams("highs", time_limit_s=600, threads=1)
    standing = Standing("test", 0.0, Deadline.after(20), lambda _: None, 1)
    placed = make_policy("heft").place(problem)
    standing.offer(Incumbent(placed, simulate(problem, placed), makespan_ns(problem, placed)))
    monkeypatch.setattr(plan_search, "StretchSearch", None)
    search = PlanSearch(problem, params, standing, MemoryLimit(None), lambda *_: True)
    search.improve(Deadline.after(1), 1, is_all=True)
    found = standing.best
    assert found.makespan_ns < makespan_ns(problem, placed)
    assert validate(problem, found.placement, found.timeline) == []
