import sys

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.series import block_problem, series_blocks
from surplus.placement import Task, validate
from surplus.placement.random_graphs import DetectorParams, detector, inception
from tests.milp.problems import edge, two_devices

SEARCH = sys.modules["surplus.milp.solve"]


def test_cuts_are_tasks_that_everything_is_before_or_after():
    # 0 -> (1, 2) -> 3 -> (4, 5): only 0 and 3 are comparable with all others.
    tensors = [edge(0, 1, 2), edge(1, 3), edge(2, 3), edge(3, 4, 5)]
    blocks = series_blocks(two_devices([(1, 1)] * 6, tensors))
    assert [block.tasks for block in blocks] == [(0,), (0, 1, 2, 3), (3, 4, 5)]
    assert [(block.first, block.last) for block in blocks] == [(None, 0), (0, 3), (3, None)]


def test_data_that_passes_by_prevents_a_cut():
    chain = [edge(0, 1), edge(1, 2)]
    passing = [*chain, edge(0, 2, size=1)]
    assert len(series_blocks(two_devices([(1, 1)] * 3, chain))) == 4
    assert [b.last for b in series_blocks(two_devices([(1, 1)] * 3, passing))] == [0, 2, None]


def test_an_early_output_prevents_cuts_after_its_task():
    tensors = [edge(0, 1), edge(1, 2), edge(1, size=9, output=True)]
    assert [b.last for b in series_blocks(two_devices([(1, 1)] * 3, tensors))] == [0, 1, None]


def test_an_input_that_is_read_later_prevents_cuts_before_it():
    tensors = [edge(0, 1), edge(1, 2), edge(-1, 1, size=9)]
    assert [b.last for b in series_blocks(two_devices([(1, 1)] * 3, tensors))] == [1, 2, None]


def test_memory_limits_bind_all_blocks():
    tasks = [Task(f"t{i}", "Op", (1, 1), weight_bytes=5) for i in range(3)]
    edges = [edge(0, 1), edge(1, 2)]
    assert len(series_blocks(two_devices(tasks, edges, memory_bytes=(None, 14)))) == 1
    assert len(series_blocks(two_devices(tasks, edges, memory_bytes=(None, 15)))) == 4


def test_a_block_runs_from_cut_to_cut():
    tensors = [edge(0, 1, 2, size=7), edge(1, 3), edge(2, 3), edge(3, 4, 5)]
    problem = two_devices([(1, 1)] * 6, tensors)
    block = block_problem(problem, series_blocks(problem)[1], [0], [1])
    assert [task.name for task in block.tasks] == ["t0", "t1", "t2", "t3"]
    assert block.tasks[0].service_ns == (0, None)
    assert block.tasks[3].service_ns == (None, 1)
    assert [tensor.consumers for tensor in block.tensors] == [(1, 2), (3,), (3,)]


@pytest.mark.parametrize(
    "problem",
    [inception(0, 2, 3, 1), inception(1, 2, 2, 2), detector(2, DetectorParams(5, 1, 2, 1))],
    ids=lambda p: p.name,
)
def test_blocks_find_the_optimum_of_the_whole(monkeypatch, problem):
    params = SolveParams("highs", time_limit_s=600, threads=1)
    parts = solve(problem, params)
    monkeypatch.setattr(SEARCH, "series_blocks", lambda problem: [None])
    whole = solve(problem, params)
    assert parts.status is whole.status is Status.OPTIMAL
    assert parts.makespan_ns == whole.makespan_ns
    assert validate(problem, parts.placement, parts.timeline) == []


@pytest.mark.slow
def test_thirty_tasks_are_proven_optimal():
    problem = inception(2, 4, 4, 2)
    result = solve(problem, SolveParams(time_limit_s=600))
    assert 25 <= len(problem.tasks) <= 32
    assert result.status is Status.OPTIMAL
    assert validate(problem, result.placement, result.timeline) == []
