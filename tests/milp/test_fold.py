from dataclasses import replace
from random import Random

import pytest

from surplus.milp import SolveParams, solve
from surplus.milp.bounds import combinatorial_bound_ns
from surplus.milp.fold import BUDGET, fold
from surplus.milp.series import series_blocks
from surplus.placement import Task, Tensor, simulate, validate
from surplus.placement.random_graphs import inception
from tests.milp.problems import edge, two_devices
from tests.placement.exhaustive_schedule import instance, optimum


def with_shapes(problem, seed):
    """The same with tiny branches that leave the chain early and come back late, or never."""
    random = Random(seed)
    tasks, tensors = list(problem.tasks), list(problem.tensors)
    for branch in range(3):
        leaves = random.randrange(len(problem.tasks) // 3)
        back = random.randrange(2 * len(problem.tasks) // 3, len(problem.tasks))
        tasks.append(Task(f"shape{branch}", "Shape", (50, 60)))
        shape = len(tasks) - 1
        tensors.append(Tensor(f"to{branch}", leaves, (shape,), 0))
        if branch:
            tensors.append(Tensor(f"from{branch}", shape, (back,), 8))
    return in_order(replace(problem, tasks=(), tensors=()), tasks, tensors)


def in_order(empty, tasks, tensors):
    """Number tasks topologically, each as soon as it can be."""
    makers = [{t.producer for t in tensors if i in t.consumers} for i in range(len(tasks))]
    before = {i: row - {-1} for i, row in enumerate(makers)}
    order = []
    while len(order) < len(tasks):
        order.append(next(i for i in before if i not in order and before[i] <= set(order)))
    place = {task: index for index, task in enumerate(order)}
    return replace(
        empty,
        tasks=tuple(tasks[task] for task in order),
        tensors=tuple(
            replace(
                t,
                producer=place.get(t.producer, -1),
                consumers=tuple(sorted(place[c] for c in t.consumers)),
            )
            for t in tensors
        ),
    )


@pytest.mark.parametrize("seed", range(5))
def test_blocks_come_back_when_shapes_are_folded(seed):
    plain = inception(seed, 6)
    problem = with_shapes(plain, seed)
    largest = max(len(block.tasks) for block in series_blocks(problem))
    folded = fold(problem, combinatorial_bound_ns(problem))
    assert folded is not None
    blocks = series_blocks(folded.problem)
    assert max(len(block.tasks) for block in blocks) < largest
    taken = {*range(len(problem.tasks))} - {*folded.tasks}
    assert {problem.tasks[i].kind for i in taken} == {"Shape"}


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_what_is_left_is_never_longer_than_the_whole(first, monkeypatch):
    monkeypatch.setattr("surplus.milp.fold.BUDGET", 0.6)
    folds = 0
    for seed in range(first, first + 100):
        problem = instance(seed)
        best = optimum(problem)
        folded = fold(problem, best.makespan_ns)
        if folded is not None:
            folds += 1
            assert optimum(folded.problem).makespan_ns <= best.makespan_ns, seed
    assert folds


def test_orders_through_what_was_taken_stay():
    # 1 leads from 0 to 3 and is beside 2: without it 0 would still have to be before 3.
    tensors = [edge(0, 1), edge(1, 3), edge(0, 2, size=8), edge(2, 3)]
    problem = two_devices([(1_000, 1_000), (1, 1), (1_000, 1_000), (1_000, 1_000)], tensors)
    folded = fold(problem, 3_000)
    assert folded is not None
    assert folded.tasks == (0, 2, 3)
    assert folded.problem.predecessors == ((), (0,), (0, 1))


def test_nothing_heavy_is_taken():
    problem = inception(0, 3)
    assert fold(problem, combinatorial_bound_ns(problem)) is None
    assert 0 < BUDGET < 0.01


def test_memory_limits_bind_what_would_be_folded():
    problem = with_shapes(inception(0, 6), 0)
    heavy = tuple(replace(task, weight_bytes=5) for task in problem.tasks)
    cpu, gpu = problem.devices
    short = (cpu, replace(gpu, memory_bytes=7))
    assert fold(replace(problem, tasks=heavy, devices=short), 10**9) is None


@pytest.mark.parametrize("seed", range(2))
def test_plans_of_the_whole_come_from_the_folded_problem(seed):
    problem = with_shapes(inception(seed, 4), seed)
    result = solve(problem, SolveParams("cpsat", 20))
    assert validate(problem, result.placement, result.timeline) == []
    assert simulate(problem, result.placement).makespan_ns == result.held_ns == result.makespan_ns
    assert result.gap < 0.01
    assert combinatorial_bound_ns(problem) < result.bound_ns <= result.makespan_ns
