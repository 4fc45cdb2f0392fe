"""What stays of a model's segments in the cache, and what goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning import stored_plan, unused_plans
from surplus.engine.planning.plan_question import question_of
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import StoredPlan, write_plan
from surplus.engine.planning.unused_plans import remove_unused_files
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.segment_files import segment_file_name
from surplus.engine.segmentation.plan import Plan
from surplus.engine.store.folder_lock import files_in_use
from tests.constant_costs import constant_problem, sliced_plan
from tests.pipeline.subject import Subject

SPECS = parse_devices("cpu:2")


@pytest.fixture
def graph(subject: Subject) -> Graph:
    return read_model(subject.path, subject.cache)


def _plan(graph: Graph, slices: int) -> Plan:
    return sliced_plan(graph, constant_problem(graph, SPECS), slices)


def _store(graph: Graph, plan: Plan, number: int = 0) -> Path:
    path = graph.folder / f"plan-{number:016x}-00000000.json"
    assert write_plan(path, question_of(graph, SPECS, "by hand", {}, {}), StoredPlan(plan))
    return path


def _built(graph: Graph, plan: Plan) -> PlannedModel:
    prepack_plan(graph, plan)
    return PlannedModel(graph, plan, machine_for(SPECS))


def _files(graph: Graph) -> set[str]:
    return {file.name for file in graph.folder.iterdir()}


def test_rejected_candidates_leave_nothing_but_the_runners_up(subject: Subject) -> None:
    options: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0, "cache": subject.cache}
    model = load_planned(subject.path, inputs=subject.inputs, finalists=4, **options)
    assert model.judgement is not None
    plans = [model.plan, *(runner_up.read() for runner_up in model.judgement.runners_up)]
    named = {segment_file_name(s) for p in plans if len(p.segments) > 1 for s in p.segments}
    cut = {name for name in _files(model.graph) if name.startswith("segment-")}
    assert {name for name in cut if not name.endswith(".laid.onnx")} == named


def test_what_a_stored_plan_names_stays_with_its_weights(graph: Graph, subject: Subject) -> None:
    kept, dropped = _plan(graph, 3), _plan(graph, 2)
    _store(graph, kept)
    _built(graph, kept)
    before = _files(graph)
    model = _built(graph, dropped)
    (graph.folder / "weight-0123456789abcdef0123456789abcdef.bin").write_bytes(b"x")
    (graph.folder / ".segment-0.onnx.abc").write_bytes(b"half")
    (graph.folder / ".summary.json.abc").write_bytes(b"half")
    (graph.folder / ".lay-abc").mkdir()
    assert _files(graph) > before
    right = model.run(subject.inputs)
    remove_unused_files(graph)
    assert _files(graph) == before
    # An open model goes on, and one that needs the files again makes them again.
    for answer in (model.run(subject.inputs), _built(graph, dropped).run(subject.inputs)):
        assert all(np.array_equal(right[name], answer[name]) for name in right)


def test_nothing_goes_while_somebody_uses_the_files(graph: Graph) -> None:
    _built(graph, _plan(graph, 2))
    before = _files(graph)
    with files_in_use(graph.folder), files_in_use(graph.folder):
        remove_unused_files(graph)
        assert _files(graph) == before
    remove_unused_files(graph)
    assert _files(graph) < before


def test_nothing_goes_where_a_plan_is_of_another_format(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stored_plan, "FORMAT", "surplus-stored-plan/99")
        _store(graph, _plan(graph, 3))
    _built(graph, _plan(graph, 2))
    before = _files(graph)
    remove_unused_files(graph)
    assert _files(graph) == before


def test_a_damaged_plan_keeps_nothing(graph: Graph) -> None:
    plan = _plan(graph, 2)
    empty = _files(graph)
    path = _store(graph, plan)
    _built(graph, plan)
    path.write_bytes(path.read_bytes()[:-1])
    remove_unused_files(graph)
    assert {name for name in _files(graph) - empty if name.startswith("segment-")} == set()


def test_of_many_plans_the_last_used_stay(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unused_plans, "_MOST_PLANS", 2)
    paths = [_store(graph, _plan(graph, 2 + i), i) for i in range(3)]
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    os.utime(paths[0], (9, 9))
    remove_unused_files(graph)
    assert [path.exists() for path in paths] == [True, False, True]


def test_using_a_plan_makes_it_new(subject: Subject) -> None:
    options: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0, "cache": subject.cache}
    load_planned(subject.path, inputs=subject.inputs, **options)
    (path,) = subject.plans()
    os.utime(path, (1, 1))
    load_planned(subject.path, inputs=subject.inputs, **options)
    assert path.stat().st_mtime > 1
