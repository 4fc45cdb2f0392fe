"""What is taken when the time for planning is over: always something, and never what nobody ran."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import surplus
from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ConfigError, PlanningTimeError
from surplus.engine.planning.candidates import may_gain
from surplus.engine.planning.first_plans import best_known, first_plans, split_plans
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stages import Costs, candidates
from surplus.engine.profiling.planning_time import PlanningTime
from surplus.engine.profiling.profiler import profile_graph
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from tests.pipeline.tuning_world import GUESS, PROBLEM

OVER = PlanningTime(0, clock=lambda: 0)


def after(asked: int) -> PlanningTime:
    """A time that is over when it was asked for so often."""
    times: Iterator[int] = itertools.count(1)
    return PlanningTime(asked, clock=lambda: next(times))


@pytest.fixture
def lenet(tmp_path: Path) -> Path:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    np.savez(path.with_suffix(".npz"), **models.example_inputs("lenet"))
    return path


def chain_costs(length: int, fusion: float = 1.0) -> Costs:
    tasks = tuple(Task(f"t{i}", "Op", (1000,)) for i in range(length))
    tensors = tuple(
        Tensor(f"v{i}", i, (i + 1,) if i < length - 1 else (), 10, is_output=i == length - 1)
        for i in range(length)
    )
    problem = Problem("chain", (Device("cpu", 2),), (), tasks, tensors)
    row = [1000] * length
    return Costs(
        problem, ServiceTimes({(0, 1): row, (0, 2): row}, {(0, 1): fusion, (0, 2): fusion})
    )


def test_it_is_over_when_the_clock_says_so() -> None:
    now = iter([5, 14, 15])
    limit = PlanningTime.of(1e-8, clock=lambda: next(now))
    assert not limit.is_over()
    assert limit.is_over()
    assert not PlanningTime().is_over()


def test_a_profile_that_takes_too_long_ends_with_its_place(lenet: Path, tmp_path: Path) -> None:
    graph = read(lenet, tmp_path / "cache")
    given = dict(np.load(lenet.with_suffix(".npz")))
    with pytest.raises(PlanningTimeError, match=f"lenet: 2 of {len(graph.tasks)} operators"):
        profile_graph(graph, parse_devices("cpu:1"), given, limit=after(3))


def test_a_model_for_which_there_is_no_time_runs_whole(
    lenet: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = dict(np.load(lenet.with_suffix(".npz")))
    model = surplus.load(lenet, "cpu:2", cache=tmp_path / "cache", planning_s=0, tune="now")
    assert [segment.width for segment in model.plan.segments] == [2]
    assert "the whole model runs in one session" in caplog.text
    (answer,) = model.run(given).values()
    other = surplus.load(lenet, "cpu:2", cache=tmp_path / "other", tune="now").run(given)
    np.testing.assert_allclose(answer, *other.values(), rtol=1e-5)


def test_fewer_candidates_but_all_whole_models_where_time_is_short() -> None:
    placement = Placement((0,) * len(PROBLEM.tasks), tuple(range(len(PROBLEM.tasks))), "test")
    few = candidates(Costs(PROBLEM, GUESS, OVER), placement)
    all_of_them = candidates(Costs(PROBLEM, GUESS), placement)
    assert {c.name for c in few if c.is_trivial} == {c.name for c in all_of_them if c.is_trivial}
    assert len(few) < len(all_of_them)


def test_what_was_not_run_is_not_taken_before_the_whole_model() -> None:
    placement = Placement((0,) * len(PROBLEM.tasks), tuple(range(len(PROBLEM.tasks))), "test")
    found = candidates(Costs(PROBLEM, ServiceTimes.of(PROBLEM)), placement)
    assert not found[0].is_trivial
    assert best_known(found) == next(c for c in found if c.is_trivial)
    assert best_known(found[:1]) == found[0]


@pytest.mark.parametrize("fusion", [0.8, 1.0, 1.3])
def test_a_chain_is_not_cut(fusion: float) -> None:
    assert not may_gain(chain_costs(500, fusion))


def test_branches_may_be_cut() -> None:
    assert may_gain(Costs(PROBLEM, GUESS))


def test_plans_of_very_many_segments_are_not_tried() -> None:
    costs = chain_costs(1025)
    cut = GroupGraph(costs.problem, [TaskGroup((task,), 0) for task in range(1025)])
    less = GroupGraph(costs.problem, [TaskGroup((0, 1), 0), *cut.groups[2:]])
    whole = GroupGraph(costs.problem, [TaskGroup(tuple(range(1025)), 0)])
    plans = [
        Candidate(name, graph, None) for name, graph in (("a 1", cut), ("b 1", less), ("w", whole))
    ]
    assert [plan.name for plan in first_plans(plans, 4)] == ["w", "b 1"]


def test_a_graph_of_very_many_tasks_is_not_made_again_for_each_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "g (float[4, 4] x) => (float[4, 4] y) { y = Neg(x) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}')
    onnx.save(model, tmp_path / "m.onnx")
    graph = read(tmp_path / "m.onnx", tmp_path / "cache")
    costs = chain_costs(1)
    placement = Placement((0,), (0,), "test")
    monkeypatch.setattr("surplus.engine.planning.first_plans._MOST_TASKS_IN_SHARDS", 0)
    assert split_plans(graph, costs, placement) == []


def test_no_negative_time() -> None:
    with pytest.raises(ConfigError, match="planning_s must be 0 to"):
        LoadParams(planning_s=-1)
