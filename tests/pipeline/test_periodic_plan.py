"""Queries that overlap are answered as a periodic schedule has it: devices, order, how many.

On an emulated GPU, whose times are charged. What is measured is counted in segments, not in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.first_plans import whole_models
from surplus.engine.planning.periodic_plan import periodic
from surplus.engine.planning.stages import Costs, plan_of, read_model
from surplus.engine.planning.throughput_candidates import balanced, crowd, judge, promising
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.runtime.throughput_plan import Grounds, ThroughputPlan
from surplus.engine.runtime.throughput_switch import Departure
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.periodic import PeriodicSchedule, periodic_schedule
from surplus.placement.timeline import SpanKind
from tests.constant_costs import constant_problem
from tests.pipeline.subject import Subject

DEVICES = "cpu:1,emulated:gpu"
CPU, GPU = 0, 1
TASK_NS = 200_000
"""On the emulated GPU; so is said of the CPU, too."""

QUERIES = 40
_UNUSED_SUBMIT_NS = iter(range(13_000, 14_000))


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def machine() -> Iterator[_core.Machine]:
    """One of the test's own, whose segments nobody else executes."""
    emulation = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS))
    made = machine_for(parse_devices(DEVICES), emulation)
    yield made
    made.close()


def costs_of(graph: Graph) -> Costs:
    problem = constant_problem(graph, parse_devices(DEVICES))
    tasks = tuple(
        replace(t, service_ns=tuple(None if ns is None else TASK_NS for ns in t.service_ns))
        for t in problem.tasks
    )
    problem = replace(problem, tasks=tasks)
    return Costs(problem, replace(ServiceTimes.of(problem), problem=problem))


def chosen(graph: Graph, machine: _core.Machine) -> tuple[PlannedModel, ThroughputPlan]:
    """A model that is one segment of the GPU, and what the search promises most of beside it.

    That it is measured to be better is not asked: a busy machine would have a say.
    """
    costs = costs_of(graph)
    (whole,) = (c for c in whole_models(costs) if c.graph.groups[0].device == GPU)
    mine, best = judge(costs, whole), promising(costs, whole, balanced(costs))[0]
    found = periodic(costs, best.candidate)
    assert found is not None
    held = (best.busiest, best.busiest_ns, mine.busiest, mine.busiest_ns)
    grounds = Grounds(crowd(mine, best), *held, 1.0, found.interval_ns, found.in_flight)
    many = ThroughputPlan(plan_of(graph, costs, found.candidate, "test"), grounds)
    return PlannedModel(graph, plan_of(graph, costs, whole, "test"), machine), many


def schedule_of(graph: Graph, found: ThroughputPlan) -> PeriodicSchedule:
    """That of the plan's segments, made anew."""
    costs = costs_of(graph)
    groups = [TaskGroup(s.tasks, s.device, s.width) for s in found.plan.segments]
    return periodic_schedule(*coarse_problem(GroupGraph(costs.problem, groups), costs.service))


def executed(machine: _core.Machine) -> Counter[int]:
    return Counter({d: row["executed"] for d, row in enumerate(machine.stats()["devices"])})


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> list[Queueing]:
    """By what rules queries wait, in the order in which these were made."""
    made: list[Queueing] = []
    make = Queueing.room

    def noted(queueing: Queueing) -> _core.WaitingRoom:
        made.append(queueing)
        return make(queueing)

    monkeypatch.setattr(Queueing, "room", noted)
    return made


def test_the_core_runs_the_periodic_schedule(
    graph: Graph, machine, shared: Subject, rooms: list[Queueing]
) -> None:
    model, found = chosen(graph, machine)
    segments, schedule = found.plan.segments, schedule_of(graph, found)
    grounds = found.grounds
    assert (grounds.interval_ns, grounds.in_flight) == (schedule.interval_ns, schedule.in_flight)
    assert grounds.busiest_ns == schedule.load_ns < grounds.own_busiest_ns
    starts = {s.index: s.start_ns for s in schedule.timeline if s.kind is not SpanKind.COPY}
    in_order = sorted(range(len(segments)), key=lambda index: segments[index].rank)
    assert [starts[index] for index in in_order] == sorted(starts.values())

    overlapping = PlannedModel(graph, model.plan, machine, Departure.ALWAYS, throughput_plan=found)
    assert rooms == [Queueing.window(schedule.in_flight)]
    right = model.run(shared.inputs)
    before, of_query = executed(machine), Counter(segment.device for segment in segments)
    futures = [overlapping.submit(shared.inputs) for _ in range(QUERIES)]
    for future in futures:
        answer = future.result()
        for name, value in right.items():
            np.testing.assert_allclose(answer[name], value, rtol=1e-5, atol=1e-6)
    ran = executed(machine) - before
    queries, rest = divmod(ran[CPU], of_query[CPU])
    assert rest == 0
    assert QUERIES / 2 < queries < QUERIES, "the first found nobody, and ran the model's own plan"
    assert ran[GPU] == queries * of_query[GPU] + (QUERIES - queries)
    traced = PlannedModel(graph, found.plan, machine)
    traced.run(shared.inputs, traced=True)
    devices = {span.name: span.resource for span in traced.timeline() if span.kind != "copy"}
    assert devices == {s.name: found.plan.devices[s.device] for s in segments}
