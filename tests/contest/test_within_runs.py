"""Copies that a provider makes within its runs count once: in the copies of the prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.engine.contest.contest import ContestTurn
from surplus.engine.contest.in_place import Cost, costs_in_place
from surplus.engine.contest.within_runs import within_runs_ns
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.learning import learn
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.timeline import Span, SpanKind, Timeline

CPU, PLUGIN = 0, 1
SUBMIT_NS = 700
NS_PER_BYTE = 10
OWN_NS = (("a", 2_000), ("b", 5_000), ("c", 1_000))
"""The provider's thread is in a run until it ends, so that nothing overlaps there."""


@pytest.fixture
def groups() -> GroupGraph:
    """x -> a and b on the provider -> c on the CPU; b also reads what a makes."""
    up = Link("host", "plugin:fake", 0, 1e9 / NS_PER_BYTE, 0, None, pageable=True)
    down = replace(up, source=up.target, target=up.source)
    devices = (Device("cpu"), Device("plugin:fake", 1, "plugin:fake", submit_ns=SUBMIT_NS))
    tasks = tuple(Task(name, "Op", (9_000, ns), launch_ns=(0, ns)) for name, ns in OWN_NS)
    tensors = (
        Tensor("x", -1, (0, 1), 100),
        Tensor("of a", 0, (1, 2), 40),
        Tensor("of b", 1, (2,), 60),
        Tensor("y", 2, (), 4, is_output=True),
    )
    problem = Problem("three", devices, (up, down), tasks, tensors)
    return GroupGraph(
        problem, [TaskGroup((0,), PLUGIN), TaskGroup((1,), PLUGIN), TaskGroup((2,), CPU)]
    )


@pytest.fixture
def service(groups: GroupGraph) -> ServiceTimes:
    return replace(ServiceTimes.of(groups.problem), boundary_ns=0, submit_ns={PLUGIN: SUBMIT_NS})


def measured(service_ns: dict[int, int], within_ns: dict[int, int]) -> ContestTurn:
    """One after the other; a run of the provider has its submission and its copies within."""
    spans, now = [], 0
    for index, own_ns in service_ns.items():
        end = now + own_ns + within_ns.get(index, 0)
        device = "cpu" if index == 2 else "plugin:fake"
        spans.append(Span(SpanKind.SEGMENT, index, f"s{index}", "s", device, (0,), now, now, end))
        now = end
    timeline = Timeline.of(spans, "measured")
    return ContestTurn(now, timeline, now)


def test_the_first_reader_has_a_copy_and_the_maker_those_to_others(
    groups: GroupGraph, service: ServiceTimes
) -> None:
    a, b = SUBMIT_NS + 140 * NS_PER_BYTE, SUBMIT_NS + 60 * NS_PER_BYTE
    assert within_runs_ns(groups, service, [0, 1, 2]) == {0: a, 1: b}
    moved = 100 * NS_PER_BYTE
    assert within_runs_ns(groups, service, [1, 0, 2]) == {0: a - moved, 1: b + moved}


def test_what_is_measured_is_predicted(groups: GroupGraph, service: ServiceTimes) -> None:
    own = {index: ns for index, (_, ns) in enumerate(OWN_NS)}
    turn = measured(own, within_runs_ns(groups, service, [0, 1, 2]))
    costs = costs_in_place(groups, service, turn)
    assert costs == {index: Cost(ns, 0) for index, ns in own.items()}
    total_ns = {index: cost.total_ns for index, cost in costs.items()}
    assert predict(groups, service, measured_ns=total_ns).makespan_ns == turn.wall_ns
    observed = {groups.groups[index]: ns for index, ns in total_ns.items()}
    assert predict(groups, learn(service, observed)).makespan_ns == turn.wall_ns


def test_a_run_shorter_than_its_parts_costs_nothing_besides(
    groups: GroupGraph, service: ServiceTimes
) -> None:
    turn = measured({0: 1, 1: 1, 2: 1}, {})
    assert costs_in_place(groups, service, turn)[0] == Cost(0, 0)


def test_other_devices_have_nothing_within(groups: GroupGraph, service: ServiceTimes) -> None:
    gpu = replace(groups.problem.devices[PLUGIN], name="cuda:0")
    problem = replace(groups.problem, devices=(groups.problem.devices[CPU], gpu))
    assert within_runs_ns(GroupGraph(problem, groups.groups), service, [0, 1, 2]) == {}
