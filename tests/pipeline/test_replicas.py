"""A throughput plan that is there once on each of several emulated GPUs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import close_machines, machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, PlacementError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import machine_of, recovery_of
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.replicas import replica
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.runtime.throughput_switch import Departure
from surplus.engine.segmentation.plan import Plan
from tests.constant_costs import plan_in_turns
from tests.pipeline.subject import Subject

DEVICES = "cpu:1,emulated:a:1,emulated:b:1,emulated:c:1"
NAMES_OF_TWO = "cpu:1,emulated:a:1,emulated:b:1"
NAMES = ("cpu", "emulated:a", "emulated:b", "emulated:c")
GROUNDS = Grounds(2, "emulated:a", 1_000_000, "emulated:a", 3_000_000, 0.4, 1_000_000, 2)
HOMES = ((0, 2, 2, 3), (0, 3, 2, 3))
IN_FLIGHT = 30


@pytest.fixture(autouse=True)
def no_machines() -> Iterator[None]:
    """What one test has lost stays lost in the next one's machines."""
    close_machines()
    yield
    close_machines()


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def right(shared: Subject) -> dict[str, Any]:
    plain = load_planned(shared.path, "cpu:1", cache=shared.cache, selection_s=0, reuse=False)
    return plain.run(shared.inputs)


def on_first(graph: Graph) -> Plan:
    """Half of the model on the CPU, half on the first GPU."""
    return plan_in_turns(graph, LoadParams(devices=DEVICES).specs(), on=("cpu", "emulated:a"))


def throughput_plan(graph: Graph) -> ThroughputPlan:
    return ThroughputPlan(on_first(graph), GROUNDS, HOMES)


def model_of(graph: Graph, params: LoadParams) -> PlannedModel:
    return PlannedModel(
        graph,
        plan_in_turns(graph, params.specs()),
        machine_of(params),
        Departure.ALWAYS,
        recovery_of(params),
        throughput_plan(graph),
    )


def check(found: dict[str, Any], right: dict[str, Any]) -> None:
    for name, value in right.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def executed(machine: _core.Machine) -> dict[str, int]:
    return {row["name"]: row["executed"] for row in machine.stats()["devices"]}


def test_queries_that_overlap_go_to_each_in_turn(graph: Graph, shared: Subject, right) -> None:
    params = LoadParams(devices=DEVICES)
    model = model_of(graph, params)
    assert model._switch is not None
    assert [opened.plan for opened in model._switch.opened] == list(throughput_plan(graph).plans)
    each = sum(segment.device == 1 for segment in on_first(graph).segments)
    machine = machine_for(params.specs())
    model._switch._is_rule = True  # as it is where so many callers wait all the time
    before = executed(machine)
    for future in [model.submit(shared.inputs) for _ in range(IN_FLIGHT)]:
        check(future.result(), right)
    after = executed(machine)
    assert {name: after[name] - before[name] for name in NAMES[1:]} == dict.fromkeys(
        NAMES[1:], each * IN_FLIGHT // 3
    )


def test_the_front_end_is_led_to_each_in_turn(graph: Graph) -> None:
    """It has no other way to know: ``lead`` takes all of them."""
    model = model_of(graph, LoadParams(devices=DEVICES))
    led: list[Any] = []

    class Route:
        def lead(self, plan: Any, busy: Any, **_: Any) -> None:
            led.append((plan, busy))

    assert model._switch is not None
    model._switch.lead(Route(), model._prepared)  # type: ignore[arg-type]
    assert led == [(model.native, [opened.native for opened in model._switch.opened])]
    assert len(led[0][1]) == 3


def test_a_lost_gpu_takes_its_replica_along_and_no_other(
    graph: Graph, shared: Subject, right
) -> None:
    emulation = EmulationParams(device="emulated:b", lose_at=1)
    params = LoadParams(devices=DEVICES, on_device_loss="cpu", emulation=emulation)
    model = model_of(graph, params)
    with pytest.raises(ExecutionError, match="'emulated:b' is lost"):
        model.run(shared.inputs)
    check(model.run(shared.inputs), right)
    left = model.throughput_plan
    assert left is not None
    assert left.plan.devices == model.plan.devices == ("cpu", "emulated:a", "emulated:c")
    used = [{p.devices[s.device] for s in p.segments} for p in left.plans]
    assert used == [{"cpu", "emulated:a"}, {"cpu", "emulated:c"}]
    for future in [model.submit(shared.inputs) for _ in range(IN_FLIGHT)]:
        check(future.result(), right)


def test_what_is_left_where_the_first_is_gone(graph: Graph) -> None:
    left = throughput_plan(graph).left_on(("cpu", "emulated:b", "emulated:c"))
    assert left is not None
    used = [{p.devices[s.device] for s in p.segments} for p in left.plans]
    assert used == [{"cpu", "emulated:b"}, {"cpu", "emulated:c"}]
    assert {link for p in left.plans for copy in p.copies for link in [p.link_of(copy)]} == {
        "host->emulated:b",
        "emulated:b->host",
        "host->emulated:c",
        "emulated:c->host",
    }
    one = left.left_on(("cpu", "emulated:c"))
    assert one is not None
    assert one.replicas == ()
    assert one.left_on(("cpu",)) is None


def test_a_replica_is_the_same_segments_elsewhere(graph: Graph) -> None:
    plan = on_first(graph)
    other = replica(plan, HOMES[0])
    assert [s.device for s in other.segments] == [2 * s.device for s in plan.segments]
    assert [replace(s, device=0) for s in other.segments] == [
        replace(s, device=0) for s in plan.segments
    ]
    assert {(copy.source, copy.target) for copy in other.copies} == {(0, 2), (2, 0)}


def test_replicas_are_stored(graph: Graph) -> None:
    told = throughput_plan(graph)
    raw = json.loads(json.dumps(told.to_dict()))
    assert ThroughputPlan.from_dict(raw) == told
    assert "on each of 3 groups of devices" in told.text
    for wrong in ([[0, 1]], [[0, 1, 2, 4]], [[0, 1, 2, "3"]], 3):
        with pytest.raises(PlacementError, match="throughput_plan: "):
            ThroughputPlan.from_dict({**raw, "replicas": wrong})


@pytest.mark.parametrize("allowed", [Departure.SAME_BITS, Departure.SAME_CUTS])
def test_where_bits_must_stay_it_is_the_same_plan_elsewhere_or_none(
    graph: Graph, shared: Subject, right, allowed: Departure
) -> None:
    params = LoadParams(devices=DEVICES)
    same = allowed is Departure.SAME_BITS
    for plan, is_used in ((on_first(graph), same), (plan_in_turns(graph, params.specs()), False)):
        machine = machine_of(params)
        recovery = recovery_of(params)
        model = PlannedModel(graph, plan, machine, allowed, recovery, throughput_plan(graph))
        assert (model.throughput_plan is not None) == is_used
        if is_used:
            assert model._switch is not None
            assert len(model._switch.opened) == 3
            for future in [model.submit(shared.inputs) for _ in range(IN_FLIGHT)]:
                check(future.result(), right)


def test_the_last_copy_is_the_plan_itself(graph: Graph, shared: Subject) -> None:
    emulation = EmulationParams(device="emulated:b", lose_at=1)
    params = LoadParams(devices=NAMES_OF_TWO, on_device_loss="cpu", emulation=emulation)
    plan = plan_in_turns(graph, params.specs(), on=("cpu", "emulated:a"))
    given = ThroughputPlan(plan, GROUNDS, ((0, 2, 2),))
    model = PlannedModel(
        graph, plan, machine_of(params), Departure.SAME_BITS, recovery_of(params), given
    )
    assert model.throughput_plan is not None
    for _ in range(IN_FLIGHT):
        with suppress(ExecutionError):
            for future in [model.submit(shared.inputs) for _ in range(IN_FLIGHT)]:
                future.result()
        if model.plan.devices == ("cpu", "emulated:a"):
            break
    assert model.plan.devices == ("cpu", "emulated:a")
    assert model.throughput_plan is None
