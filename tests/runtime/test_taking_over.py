"""A plan that takes over between two queries, and which one may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.machines import open_machine
from surplus.engine.dfg.graph import Graph
from surplus.engine.judging.judge import Judge
from surplus.engine.pipeline.in_service import judge_in_service
from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.same_bits import same_bits
from surplus.engine.runtime.throughput_switch import Departure
from surplus.engine.segmentation.judgement import Judgement, RunnerUp
from surplus.engine.segmentation.plan import Plan
from tests.runtime.runtime_models import ADDED, SUM, TWO_LANES


def test_widths_keep_the_bits_and_cuts_need_not(narrow: Plan, wide: Plan, cut: Plan) -> None:
    assert same_bits(narrow, wide)
    assert not same_bits(narrow, cut)
    assert same_bits(cut, replace(cut, segments=cut.segments[::-1]))
    assert not same_bits(narrow, replace(narrow, source_hash="of another model"))
    assert not same_bits(narrow, replace(narrow, devices=("gpu",)))


def test_the_next_query_runs_what_took_over(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine
) -> None:
    model = PlannedModel(graph, narrow, machine)
    before = model.submit(ADDED)
    assert model.take_over(model.prepare(wide))
    np.testing.assert_array_equal(before.result()["y"], SUM)
    assert model.plan is wide
    np.testing.assert_array_equal(model.run(ADDED, traced=True)["y"], SUM)
    (span,) = model.timeline()
    assert len(span.lanes) == 2


def test_what_follows_while_queries_overlap_is_of_the_new_plan(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine
) -> None:
    model = PlannedModel(graph, narrow, machine)
    assert model._switch is None
    assert model.take_over(model.prepare(wide))
    assert model._switch is not None
    assert model.take_over(model.prepare(narrow))
    assert model._switch is None


@pytest.mark.parametrize("allowed", Departure)
def test_other_bits_only_where_any_will_do(
    graph: Graph, narrow: Plan, cut: Plan, machine: _core.Machine, allowed: Departure
) -> None:
    model = PlannedModel(graph, narrow, machine, allowed)
    any_bits = allowed is Departure.ALWAYS
    assert model.may_answer(cut) is any_bits
    assert model.take_over(model.prepare(cut)) is any_bits
    assert model.plan is (cut if any_bits else narrow)


def test_nothing_takes_over_that_was_prepared_elsewhere(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine
) -> None:
    """As where a device was lost in between, and queries go on with another machine."""
    model = PlannedModel(graph, narrow, machine)
    other = open_machine(TWO_LANES)
    elsewhere = PlannedModel(graph, narrow, other).prepare(wide)
    assert not model.take_over(elsewhere)
    other.close()
    assert model.plan is narrow


def test_who_becomes_another_model_is_judged_as_that_was(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine
) -> None:
    judgement = Judgement(7, Disturbance(taken=0.4), True, 10, 10, (RunnerUp.of(narrow, 0.5),))
    model, read = (
        PlannedModel(graph, narrow, machine),
        PlannedModel(graph, wide, machine, judgement=judgement),
    )
    read.be_judged(Judge(wide, judgement, lambda plan, found: None, lambda: None))
    assert model.share is None
    assert model.become(read)
    assert model.judgement is judgement
    assert model.share is read.share
    model.judge()
    np.testing.assert_array_equal(model.run(ADDED)["y"], SUM)


def test_a_model_without_a_judgement_is_not_judged(
    graph: Graph, narrow: Plan, machine: _core.Machine
) -> None:
    model = PlannedModel(graph, narrow, machine)
    nothing: Any = None
    judge_in_service(model, nothing, nothing)
    assert model.share is None
    model.judge()
