"""The second plan: used while queries overlap, by every way to ask, with the same answers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine._core import AskedModels
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import CancelledError
from surplus.engine.runtime import neighbours
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.runtime.throughput_switch import (
    Departure,
    busy_plan,
    narrow_plan,
    whole_segment,
)
from surplus.engine.runtime.urgency import Urgency
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, plan_of_groups
from tests.runtime.runtime_models import ADD, NEVER_NS, read_text

DEVICES = "cpu:2,emulated:gpu"
_UNUSED_SUBMIT_NS = iter(range(14_000, 15_000))
INPUTS = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "shift": np.ones(3, np.float32)}
WANT = -INPUTS["x"] + INPUTS["shift"]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(ADD, tmp_path_factory.mktemp("busy"))


@pytest.fixture
def machine() -> Iterator[_core.Machine]:
    """One of the test's own, so that no other test's queries are in flight on it."""
    own = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS))
    made = machine_for(parse_devices(DEVICES), own)
    yield made
    made.close()


def plan_on(graph: Graph, device_of: tuple[int, ...]) -> Plan:
    problem = constant_problem(graph, parse_devices(DEVICES))
    placement = Placement(device_of, tuple(range(len(device_of))), "test")
    return plan_of_groups(graph, per_task(problem, placement), "test")


def crowd(graph: Graph, machine: _core.Machine, queries: int) -> list[Future]:
    """Queries of another model, all on the other device, in flight until they are cancelled."""
    plan = plan_on(graph, (1, 1))
    endless = tuple(replace(segment, service_ns=NEVER_NS) for segment in plan.segments)
    blocker = PlannedModel(graph, replace(plan, segments=endless), machine)
    return [blocker.submit(INPUTS) for _ in range(queries)]


def disperse(queries: list[Future]) -> None:
    for query in queries:
        query.cancel()
        with pytest.raises(CancelledError):
            query.result()


def test_every_way_to_ask_uses_it_while_queries_overlap(graph, machine) -> None:
    model = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    assert model._switch is not None
    assert model._switch.now() is None
    others = crowd(graph, machine, 2)
    model._switch._started = True  # prepared here instead of beside the queries
    model._switch.prepare()

    def executed_by(ask) -> int:
        before = machine.stats()["devices"][0]["executed"]
        np.testing.assert_array_equal(ask()["y"], WANT)
        return machine.stats()["devices"][0]["executed"] - before

    asked = [
        lambda: model.run(INPUTS),
        lambda: model.run(INPUTS, timeout_s=60),
        lambda: model.submit(INPUTS).result(),
        lambda: asyncio.run(model.infer(INPUTS)),
    ]
    assert [executed_by(ask) for ask in asked] == [1, 1, 1, 1]
    assert executed_by(lambda: model.run(INPUTS, traced=True)) == 2
    assert len(list(model.timeline())) == 2
    disperse(others)
    assert executed_by(asked[0]) == 2


def test_it_is_prepared_beside_the_queries(graph, machine) -> None:
    model = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    others = crowd(graph, machine, 2)
    assert model._switch is not None
    while model._switch.now() is None:
        np.testing.assert_array_equal(model.run(INPUTS)["y"], WANT)
    disperse(others)


def test_one_query_fewer_than_lanes_is_no_crowd(graph, machine) -> None:
    model = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    others = crowd(graph, machine, 1)
    assert model._switch is not None
    model._switch.prepare()
    assert model._switch.now() is None
    disperse(others)


def test_what_is_due_beside_others_that_are_has_one_lane(graph, machine, monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "OF_PROCESS", neighbours.Neighbours())
    models = [
        PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS) for _ in range(3)
    ]
    first, second, relaxed = (model._switch for model in models)
    assert first is not None
    assert second is not None
    assert relaxed is not None
    for model, switch in zip(models, (first, second, relaxed), strict=True):
        model.be_urgent(Urgency(3_600 * 10**9))
        switch.prepare()
    models[2].be_urgent(Urgency())
    assert relaxed.now() is first.now() is first.now() is None  # the others are not due, or silent
    assert second.now() is not None
    assert first.now() is not None
    models[0].be_urgent(Urgency(1))  # one lane would not do
    assert first.now() is None
    silent = neighbours.Neighbours(AskedModels(lately_ns=0))
    monkeypatch.setattr(neighbours, "OF_PROCESS", silent)
    assert second.now() is None


def test_second_plans_are_prepared_once_others_are_due(graph, machine, monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "OF_PROCESS", neighbours.Neighbours())
    alone, beside, relaxed = (
        PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS) for _ in range(3)
    )
    alone.be_urgent(Urgency(3_600 * 10**9))
    relaxed.be_urgent(Urgency())
    assert [model._switch._started for model in (alone, relaxed)] == [False, False]
    beside.be_urgent(Urgency(best_effort=True))
    assert [m._switch._started for m in (alone, beside, relaxed)] == [True, True, False]


def test_models_without_a_second_plan_are_made_way_for(graph, machine, monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "OF_PROCESS", neighbours.Neighbours())
    wide = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    small = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.NEVER)
    assert small._switch is None
    assert wide._switch is not None
    wide._switch.prepare()
    for model in (wide, small):
        model.be_urgent(Urgency(3_600 * 10**9))
    assert wide._switch.now() is None
    for ask in (small.run, lambda inputs: small.submit(inputs).result()):
        monkeypatch.setattr(neighbours, "OF_PROCESS", neighbours.Neighbours())
        ask(INPUTS)
        assert wide._switch.now() is not None


def test_a_plan_of_one_lane_with_the_same_bits_may_be_given(graph, machine) -> None:
    cut = plan_on(graph, (0, 0))
    whole = busy_plan(cut, (whole_segment(graph),), "whole")
    for departure in (Departure.SAME_BITS, Departure.ALWAYS):
        model = PlannedModel(graph, cut, machine, departure, narrow_plan=whole)
        assert model._switch is not None
        model._switch.prepare()
        assert [opened.plan for opened in model._switch.opened] == [whole]
    assert PlannedModel(graph, cut, machine, Departure.SAME_CUTS, narrow_plan=whole)._switch is None
    assert PlannedModel(graph, cut, machine, Departure.SAME_BITS)._switch is None


def test_waiting_callers_are_a_crowd_whatever_one_of_them_finds(graph, machine) -> None:
    model = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    busy = model._switch
    assert busy is not None
    busy.prepare()
    busy._started = True
    hour_ns = 3_600_000_000_000
    for _ in range(4):
        assert busy.now() is None
        busy.answered(time.monotonic_ns() - hour_ns)
    assert busy.now() is not None
    for _ in range(4):
        busy.answered(time.monotonic_ns())
    assert busy.now() is None


def test_every_answer_of_run_counts(graph, machine) -> None:
    model = PlannedModel(graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS)
    assert model._switch is not None
    model.run(INPUTS)
    model.run(INPUTS, timeout_s=60)
    assert model._switch._answers == 2


def test_where_there_is_no_departure(graph: Graph, tmp_path: Path) -> None:
    assert narrow_plan(graph, plan_on(graph, (0, 0)), lanes=1) is None
    assert narrow_plan(graph, plan_on(graph, (0, 1)), lanes=2) is None
    assert narrow_plan(graph, plan_on(graph, (1, 1)), lanes=2) is None
    narrow = narrow_plan(graph, plan_on(graph, (0, 0)), lanes=2)
    assert narrow is not None
    assert [(s.width, s.tasks) for s in narrow.segments] == [(1, (0, 1))]
    assert narrow_plan(graph, narrow, lanes=2) is None
    cut = plan_on(graph, (0, 0))
    assert narrow_plan(graph, cut, 2, Departure.SAME_BITS) is None
    assert narrow_plan(graph, cut, 2, Departure.NEVER) is None
    wide = replace(narrow, segments=(replace(narrow.segments[0], width=2),))
    assert narrow_plan(graph, wide, 2, Departure.SAME_BITS) is not None
    assert narrow_plan(graph, wide, 2, Departure.NEVER) is None


def test_slices_stay_and_get_a_lane_each(graph: Graph) -> None:
    cut = plan_on(graph, (0, 0))
    assert len(cut.segments) == 2
    assert narrow_plan(graph, cut, 2, Departure.SAME_CUTS) is None
    first, second = cut.segments
    wide = replace(cut, segments=(replace(first, width=2), second))
    narrow = narrow_plan(graph, wide, 2, Departure.SAME_CUTS)
    assert narrow is not None
    assert [(s.tasks, s.width) for s in narrow.segments] == [(first.tasks, 1), (second.tasks, 1)]
    assert narrow.segments[0].service_ns == 2 * first.service_ns


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> list[_core.WaitingRoom]:
    """Those that are made, in their order."""
    made: list[_core.WaitingRoom] = []
    make = Queueing.room

    def noted(queueing: Queueing) -> _core.WaitingRoom:
        made.append(make(queueing))
        return made[-1]

    monkeypatch.setattr(Queueing, "room", noted)
    return made


def windowed(graph: Graph, machine: _core.Machine, in_flight: int) -> PlannedModel:
    """Its throughput plan answers no query by itself, and so many at a time."""
    plan = plan_on(graph, (0, 1))
    endless = tuple(replace(s, service_ns=NEVER_NS) if s.device else s for s in plan.segments)
    grounds = Grounds(2, "emulated:gpu", 1, "cpu", 2, 0.5, interval_ns=1, in_flight=in_flight)
    many = ThroughputPlan(replace(plan, segments=endless), grounds)
    return PlannedModel(
        graph, plan_on(graph, (0, 0)), machine, Departure.ALWAYS, throughput_plan=many
    )


def wait_until(is_so) -> None:
    while not is_so():
        os.sched_yield()


def test_a_throughput_plan_answers_as_many_at_a_time_as_its_schedule_has(
    graph, machine, rooms
) -> None:
    model, others = windowed(graph, machine, 2), crowd(graph, machine, 2)
    asked = [model.submit(INPUTS) for _ in range(5)]
    (room,) = rooms
    assert room.waiting == 3
    disperse(asked[:1])
    wait_until(lambda: room.waiting < 3)
    assert room.waiting == 2
    assert not any(future.done() for future in asked[1:])
    disperse(asked[1:])
    disperse(others)


def test_rules_of_the_model_go_before_the_window(graph, machine, rooms) -> None:
    model, others = windowed(graph, machine, 2), crowd(graph, machine, 2)
    model.be_queued(Queueing(calls=4))
    asked = [model.submit(INPUTS) for _ in range(5)]
    assert [room.waiting for room in rooms] == [0, 1]
    disperse(asked)
    disperse(others)


def test_what_has_no_schedule_has_no_window(graph, machine, rooms) -> None:
    windowed(graph, machine, 0)
    assert rooms == []
