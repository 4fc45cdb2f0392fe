"""It answers while queries overlap, is stored with the latency plan and goes with its devices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, PlacementError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import machine_of, recovery_of
from surplus.engine.planning.plan_question import question_of
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import StoredPlan, plan_path, read_plan, write_plan
from surplus.engine.planning.throughput_search import ThroughputSearch
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.runtime.throughput_switch import Departure, ThroughputSwitch
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from tests.constant_costs import constant_problem, plan_of_groups
from tests.pipeline.subject import Subject

DEVICES = "cpu:1,emulated:gpu[replay]:4"
GROUNDS = Grounds(2, "cpu", 3_000_000, "emulated:gpu", 5_000_000, 0.7)
IN_FLIGHT = 40
SERVICE_NS = 1_000_000
"""Of each segment on the emulated GPU: queries last longer than it takes to submit the next."""


def plan_in(graph: Graph, devices: str, parts: int, name: str) -> Plan:
    """So many segments one after another, on the devices in turn."""
    problem = constant_problem(graph, LoadParams(devices=devices).specs())
    count = len(graph.tasks)
    cuts = [round(i * count / parts) for i in range(parts + 1)]
    groups = [
        TaskGroup(tuple(range(a, b)), i % 2) for i, (a, b) in enumerate(itertools.pairwise(cuts))
    ]
    plan = plan_of_groups(graph, GroupGraph(problem, groups), name)
    segments = tuple(replace(s, service_ns=SERVICE_NS) for s in plan.segments)
    return replace(plan, segments=segments)


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def right(shared: Subject) -> dict[str, Any]:
    plain = load_planned(shared.path, "cpu:1", cache=shared.cache, selection_s=0, reuse=False)
    return plain.run(shared.inputs)


def pair(graph: Graph) -> tuple[Plan, ThroughputPlan]:
    return (
        plan_in(graph, DEVICES, 6, "for one"),
        ThroughputPlan(plan_in(graph, DEVICES, 2, "for many"), GROUNDS),
    )


def executed(model: PlannedModel, ask: Callable[[], None]) -> int:
    """Segments that all devices ran meanwhile."""
    machine = machine_for(LoadParams(devices=DEVICES).specs())

    def total() -> int:
        return sum(row["executed"] for row in machine.stats()["devices"])

    before = total()
    ask()
    return total() - before


def check(found: dict[str, Any], right: dict[str, Any]) -> None:
    for name, value in right.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def overlapped(model: PlannedModel, inputs: Any, right: dict[str, Any]) -> None:
    for future in [model.submit(inputs) for _ in range(IN_FLIGHT)]:
        check(future.result(), right)


def test_queries_that_overlap_are_answered_by_it(graph: Graph, shared: Subject, right) -> None:
    plan, throughput_plan = pair(graph)
    machine = machine_for(LoadParams(devices=DEVICES).specs())
    model = PlannedModel(graph, plan, machine, Departure.ALWAYS, throughput_plan=throughput_plan)
    assert model.throughput_plan is throughput_plan
    alone = executed(model, lambda: check(model.run(shared.inputs), right))
    many = executed(model, lambda: overlapped(model, shared.inputs, right))
    plain = PlannedModel(graph, plan, machine, Departure.SAME_BITS, throughput_plan=throughput_plan)
    assert plain.throughput_plan is None
    of_plan = executed(plain, lambda: overlapped(plain, shared.inputs, right))
    assert of_plan == IN_FLIGHT * alone
    assert many < of_plan / 2


def test_one_caller_after_the_other_never_meets_it(graph: Graph, shared: Subject, right) -> None:
    plan, throughput_plan = pair(graph)
    machine = machine_for(LoadParams(devices=DEVICES).specs())
    model = PlannedModel(graph, plan, machine, Departure.ALWAYS, throughput_plan=throughput_plan)
    once = executed(model, lambda: check(model.run(shared.inputs), right))

    def again() -> None:
        for _ in range(30):
            model.run(shared.inputs)

    assert executed(model, again) == 30 * once


@pytest.mark.parametrize("reuse", [True, False])
def test_a_load_that_finds_one_opens_it_once(
    graph: Graph, shared: Subject, right, reuse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    throughput_plan = pair(graph)[1]
    opened: list[str] = []
    prepare = ThroughputSwitch.prepare

    def counted(self: ThroughputSwitch) -> None:
        opened.append("throughput_plan")
        prepare(self)

    monkeypatch.setattr(ThroughputSwitch, "prepare", counted)
    monkeypatch.setattr(ThroughputSearch, "best", lambda *_: throughput_plan)
    params = LoadParams(DEVICES, cache=shared.cache, relaxed_numerics=True, reuse=reuse)
    model = load_with(shared.path, params, shared.inputs)
    assert model.throughput_plan is not None
    assert len(opened) == 1
    overlapped(model, shared.inputs, right)


@pytest.mark.parametrize(("choice", "lose_at", "stays"), [("recreate", 5, True), ("cpu", 6, False)])
def test_it_stays_as_long_as_its_devices_do(
    graph: Graph, shared: Subject, right, choice: str, lose_at: int, stays: bool
) -> None:
    emulation = EmulationParams(lose_at=lose_at)  # in its second query, on a machine of its own
    params = LoadParams(devices=DEVICES, on_device_loss=choice, emulation=emulation)
    plan, throughput_plan = pair(graph)
    model = PlannedModel(
        graph, plan, machine_of(params), Departure.ALWAYS, recovery_of(params), throughput_plan
    )
    check(model.run(shared.inputs), right)
    with pytest.raises(ExecutionError, match="is lost"):
        model.run(shared.inputs)
    check(model.run(shared.inputs), right)
    assert (model.throughput_plan is throughput_plan) == stays


PARAMS: dict[str, Any] = {"devices": DEVICES, "selection_s": 0, "relaxed_numerics": True}


def stored(shared: Subject, graph: Graph, kept: StoredPlan) -> LoadParams:
    """Parameters whose stored plan is this one."""
    params = LoadParams(cache=shared.cache, **PARAMS)
    what = (graph, params.specs(), params.placement_policy, params.plan_options())
    path, question = plan_path(*what), question_of(*what, {})
    assert write_plan(path, question, kept)
    assert read_plan(path, graph, question) == kept
    return params


def test_it_is_stored_and_read_back(graph: Graph, shared: Subject, right) -> None:
    plan, throughput_plan = pair(graph)
    params = stored(shared, graph, StoredPlan(plan, None, throughput_plan))
    model = load_with(shared.path, params)
    assert model.throughput_plan == throughput_plan
    overlapped(model, shared.inputs, right)


def test_plans_that_were_stored_before_there_were_any_still_load(
    graph: Graph, shared: Subject
) -> None:
    plan, _ = pair(graph)
    raw = {"plan": plan, "throughput_plan": None}
    params = stored(shared, graph, StoredPlan(**raw))
    assert load_with(shared.path, params).throughput_plan is None


def test_a_plan_that_may_have_none_is_another_plan() -> None:
    may = LoadParams(**PARAMS).plan_options()
    assert may == {"throughput_plan": True}
    for other in ({"relaxed_numerics": False}, {"slice_s": 0.001}, {"devices": "cpu:2"}):
        assert "throughput_plan" not in LoadParams(**{**PARAMS, **other}).plan_options()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.pop("grounds"), "throughput_plan: 'grounds'"),
        (
            lambda raw: raw["grounds"].pop("queries"),
            "throughput_plan.grounds: object missing required field `queries`",
        ),
        (lambda raw: raw["grounds"].update(queries="2"), "grounds.queries: expected `int`"),
        (lambda raw: raw.update(plan=3), "plan: field .format. must be"),
    ],
)
def test_malformed_throughput_plans_name_the_field(graph: Graph, change, message: str) -> None:
    raw = json.loads(json.dumps(pair(graph)[1].to_dict()))
    assert ThroughputPlan.from_dict(raw) == pair(graph)[1]
    change(raw)
    with pytest.raises(PlacementError, match=message):
        ThroughputPlan.from_dict(raw)


def test_people_read_why(graph: Graph) -> None:
    assert pair(graph)[1].text == (
        "for many, 2 segments, while 2 queries or more are in flight: each holds cpu for 3 ms,"
        " where the plan for one query holds emulated:gpu for 5 ms; measured, overlapping queries"
        " take 0.70 of the time"
    )
