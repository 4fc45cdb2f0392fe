"""What is found out of batches when a model is planned is stored, and used by every load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline import batches
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.stacks import RowsTime, StackedShape, Stacks
from surplus.engine.segmentation.plan import Plan
from tests.pipeline.subject import Subject

LENETS = Stacks(
    "", (StackedShape("image", 1, (1, 28, 28)),), (RowsTime(1, 90_000), RowsTime(8, 100_000)), 0
)


class _Search:
    """Finds the same at once, and remembers of which plan."""

    plan: Plan | None = None

    def __init__(self, graph: Graph, plan: Plan, *_: object) -> None:
        _Search.plan = plan

    def found(self) -> Stacks:
        return LENETS


@pytest.fixture
def lenet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.setattr(batches, "StackSearch", _Search)
    return Subject.make(tmp_path, "lenet")


def _load(subject: Subject, **more: Any) -> PlannedModel:
    asked = {"selection_s": 0, "kernels": "onnxruntime", "tune": "now", **more}
    return load_planned(subject.path, "cpu:2", cache=subject.cache, inputs=subject.inputs, **asked)


def test_what_was_found_is_what_later_loads_use(
    lenet: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _load(lenet, relaxed_numerics=True)
    monkeypatch.setattr(batches, "StackSearch", None)  # nobody looks again
    assert first.facts["batches"] == "up to 8 rows, then 0.14 of the time a row"
    assert _load(lenet, relaxed_numerics=True).facts == first.facts
    fewer = _load(lenet, relaxed_numerics=True, max_batch=2)
    assert fewer.facts["batches"].startswith("up to 2 rows")


def test_bits_and_bounds_are_those_of_each_load(lenet: Subject) -> None:
    assert "--any-bits" in _load(lenet).facts["batches"]
    assert _load(lenet, relaxed_numerics=True, max_batch=0).facts["batches"] == "none: off"


def test_it_is_found_out_where_nothing_is_stored_too(lenet: Subject) -> None:
    assert _load(lenet, reuse=False, relaxed_numerics=True).facts["batches"].startswith("up to 8")
    assert lenet.plans() == []


@pytest.mark.parametrize("is_narrow", [False, True])
def test_the_plan_that_queries_overlap_with_is_looked_at(lenet: Subject, is_narrow: bool) -> None:
    model = _load(lenet, reuse=False)
    narrow = replace(model.plan, name="found narrow")
    if is_narrow:
        model.be_narrow(narrow)
    asked = {"graph": model.graph, "machine": model._machine, "inputs": lenet.inputs}
    job: Any = SimpleNamespace(params=LoadParams(), **asked)
    batches.stack(job, model)
    assert _Search.plan is not None
    assert (_Search.plan.name == "found narrow") is is_narrow
