"""Plans whose batch is split: the same answers, kept and used again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.first_plans import first_plans
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.plan_question import question_of
from surplus.engine.planning.stages import Costs, candidates, plan_of, read_model
from surplus.engine.planning.stored_plan import StoredPlan, read_plan, write_plan
from surplus.engine.report.explanation import explain
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate, split_batches
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.timeline import SpanKind
from tests.constant_costs import constant_problem
from tests.pipeline.subject import Subject

TWO = parse_devices("cpu:2")

SUBJECTS: list[tuple[str, dict[str, Any]]] = [
    ("dlrm", {"tables": 3, "rows": 50, "batch": 8}),
    ("dlrm", {"tables": 3, "rows": 50, "batch": 7}),
    ("deepfm", {"batch": 6}),
    ("two_tower", {"batch": 4}),
    ("moe", {"hidden": 16, "experts": 4, "tokens": 10}),
]


def split_of(graph: Graph, lanes: int) -> tuple[Costs, list[Candidate]]:
    problem = constant_problem(graph, parse_devices(f"cpu:{lanes}"))
    costs = Costs(problem, ServiceTimes.of(problem))
    placement = Placement((0,) * len(graph.tasks), tuple(range(len(graph.tasks))), "single")
    return costs, split_batches(graph, problem, placement, costs.service)


def split_plan(graph: Graph, lanes: int = 2) -> Plan:
    costs, found = split_of(graph, lanes)
    return plan_of(graph, costs, found[0], "single")


@pytest.fixture(params=SUBJECTS, ids=lambda s: f"{s[0]}-{s[1].get('batch', '')}")
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    name, parameters = request.param
    return Subject.make(tmp_path, name, **parameters)


def answer(graph: Graph, plan: Plan, inputs: dict[str, Any], lanes: int = 2) -> dict[str, Any]:
    machine = machine_for(parse_devices(f"cpu:{lanes}"))
    return PlannedModel(graph, plan, machine).run(inputs)


@pytest.mark.parametrize("lanes", [2, 3])
def test_shards_answer_as_one_segment(subject: Subject, lanes: int) -> None:
    graph = read_model(subject.path, subject.cache)
    costs, (candidate,) = split_of(graph, lanes)
    plan = plan_of(graph, costs, candidate, "single")
    assert plan.shards == lanes
    whole = next(c for c in candidates(costs, _on_host(graph)) if c.is_trivial)
    right = answer(graph, plan_of(graph, costs, whole, "single"), subject.inputs)
    got = answer(graph, plan, subject.inputs, lanes)
    assert got.keys() == right.keys()
    for name, array in got.items():
        np.testing.assert_allclose(array, right[name], rtol=1e-4, atol=1e-5)


def _on_host(graph: Graph) -> Placement:
    return Placement((0,) * len(graph.tasks), tuple(range(len(graph.tasks))), "single")


@pytest.fixture
def dlrm(tmp_path: Path) -> Subject:
    return Subject.make(tmp_path, "dlrm", tables=3, rows=50, batch=8)


@pytest.fixture
def graph(dlrm: Subject) -> Graph:
    return read_model(dlrm.path, dlrm.cache)


def test_a_split_plan_is_read_again(graph: Graph, dlrm: Subject) -> None:
    plan = split_plan(graph)
    question = question_of(graph, TWO, "single", {}, {})
    path = dlrm.cache / "plan.json"
    assert write_plan(path, question, StoredPlan(plan))
    stored = read_plan(path, graph, question)
    assert stored is not None
    assert stored.plan == plan
    prepack_plan(graph, stored.plan)
    right = answer(graph, plan, dlrm.inputs)
    for name, array in answer(graph, stored.plan, dlrm.inputs).items():
        np.testing.assert_array_equal(array, right[name])


def test_a_plan_of_a_batch_that_cannot_be_split_is_refused(graph: Graph, tmp_path: Path) -> None:
    plan = split_plan(graph)
    (tmp_path / "one").mkdir()
    one = Subject.make(tmp_path / "one", "dlrm", tables=3, rows=50, batch=1)
    other = read_model(one.path, one.cache)
    question = question_of(other, TWO, "single", {}, {})
    path = tmp_path / "plan.json"
    assert write_plan(path, question, StoredPlan(plan))
    assert read_plan(path, other, question) is None


def test_a_plan_of_another_way_to_split_is_refused(graph: Graph, tmp_path: Path) -> None:
    plan = split_plan(graph)
    question = question_of(graph, TWO, "single", {}, {})
    path = tmp_path / "plan.json"
    renamed = replace(plan.segments[0], outputs=("another",))
    other = replace(plan, segments=(renamed, *plan.segments[1:]))
    assert write_plan(path, question, StoredPlan(other))
    assert read_plan(path, graph, question) is None


def test_segments_of_one_plan_are_of_one_graph(graph: Graph) -> None:
    text = split_plan(graph).to_json()
    assert '"shards": 2' in text
    old = text.replace("surplus-plan/5", "surplus-plan/2")
    assert Plan.from_json(old).shards == 2
    with pytest.raises(PlacementError, match="'format' must be 'surplus-plan/5'"):
        Plan.from_json(text.replace("surplus-plan/5", "surplus-plan/9"))


def test_weights_are_shared_by_shards(graph: Graph) -> None:
    prepack_plan(graph, split_plan(graph))
    files = {file.name for file in graph.folder.glob("weight-*.bin")}
    uneven = split_plan(graph, 3)
    prepack_plan(graph, uneven)
    assert {file.name for file in graph.folder.glob("weight-*.bin")} == files


def test_timelines_show_shards(graph: Graph, dlrm: Subject) -> None:
    plan = split_plan(graph)
    model = PlannedModel(graph, plan, machine_for(TWO))
    model.run(dlrm.inputs, traced=True)
    for timeline in (plan.predicted, model.timeline()):
        names = {span.name for span in timeline if span.kind is not SpanKind.COPY}
        assert sum("[1/2]" in name for name in names) == 1
        assert sum("[2/2]" in name for name in names) == 1
    operators = explain(model, [model.breakdown()]).operators
    assert sum(row["Concat"] for row in operators.values() if set(row) == {"Concat"}) == 1


def test_shards_run_side_by_side_when_predicted(graph: Graph) -> None:
    costs, (candidate,) = split_of(graph, 2)
    shards = [s for s in candidate.predicted if "/2]" in s.name]
    assert len(shards) == 2
    assert max(s.start_ns for s in shards) < min(s.end_ns for s in shards)
    total_ns = sum(task.service_ns[0] or 0 for task in costs.problem.tasks)
    assert total_ns / 2 < candidate.predicted.makespan_ns < total_ns


def test_a_split_is_among_the_first_plans(graph: Graph) -> None:
    costs, found = split_of(graph, 2)
    ranked = [*candidates(costs, _on_host(graph)), *found]
    assert found[0] in first_plans(ranked, LoadParams().finalists)


@pytest.mark.parametrize(("devices", "batch"), [("cpu:1", 8), ("cpu:2", 1), ("cpu:4", 3)])
def test_nothing_to_split(tmp_path: Path, devices: str, batch: int) -> None:
    subject = Subject.make(tmp_path, "dlrm", tables=3, rows=50, batch=batch)
    graph = read_model(subject.path, subject.cache)
    _, found = split_of(graph, parse_devices(devices)[0].lanes)
    assert found == []
