"""Every plan of every graph, placement and width keeps the rules that the runtime relies on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.safety.random_plans import (
    DEVICES,
    plan_of_groups,
    random_costs,
    random_devices_of,
    random_groups,
    random_plan,
    random_service,
)
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.planning.stages import Costs, candidates, plan_of
from surplus.engine.segmentation.best_case import best_case, bound_in_place_ns
from surplus.engine.segmentation.coarse import coarse_problem, predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.bounds import lower_bounds
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, detector, inception, small_random
from surplus.placement.simulator import simulate
from surplus.placement.timeline import SpanKind
from surplus.placement.validator import check
from tests.constant_costs import constant_problem
from tests.invariants.plan_checker import check_plan, violations
from tests.invariants.random_models import Reader, random_models

ANY = settings(max_examples=40, derandomize=True)
devices = st.sampled_from(DEVICES)
seeds = st.integers(0, 1_000_000)


def lanes_of(specs: tuple[DeviceSpec, ...]) -> list[int]:
    return [spec.lanes for spec in specs]


@ANY
@given(model=random_models(), text=devices, seed=seeds)
def test_any_grouping_makes_a_plan_that_can_run(
    read: Reader, model: onnx.ModelProto, text: str, seed: int
) -> None:
    graph, specs = read(model), parse_devices(text)
    plan = random_plan(graph, specs, seed)
    check_plan(graph, plan, lanes_of(specs))
    assert Plan.from_json(plan.to_json()) == plan
    starts = {s.index: s.start_ns for s in plan.predicted if s.kind is not SpanKind.COPY}
    by_rank = sorted(range(len(plan.segments)), key=lambda i: plan.segments[i].rank)
    assert [starts[i] for i in by_rank] == sorted(starts.values())


@ANY
@given(model=random_models(), text=devices, seed=seeds)
def test_every_candidate_can_run_and_keeps_its_bound(
    read: Reader, model: onnx.ModelProto, text: str, seed: int
) -> None:
    graph, specs, random = read(model), parse_devices(text), Random(seed)
    costs = random_costs(graph, specs, random)
    ranked = candidates(costs, random_devices_of(costs.problem, random))
    for candidate in ranked if graph.tasks else ():
        plan = plan_of(graph, costs, candidate, "random")
        check_plan(graph, plan, lanes_of(specs))
        check(*coarse_problem(candidate.graph, costs.service), plan.predicted)


@ANY
@given(model=random_models(), text=devices, seed=seeds)
def test_bounds_hold_for_times_measured_in_place(
    read: Reader, model: onnx.ModelProto, text: str, seed: int
) -> None:
    graph, specs, random = read(model), parse_devices(text), Random(seed)
    costs = random_costs(graph, specs, random)
    for candidate in candidates(costs, random_devices_of(costs.problem, random)):
        groups = candidate.graph
        measured_ns = {
            index: round(costs.service.of_group(group) * random.choice([0, 0.3, 1, 2]))
            for index, group in enumerate(groups.groups)
        }
        predicted = predict(groups, costs.service, measured_ns)
        bound_ns = bound_in_place_ns(groups, costs.service, measured_ns)
        assert 0 <= bound_ns <= predicted.makespan_ns


def problems() -> st.SearchStrategy[Problem]:
    """Task graphs without any ONNX: with everything that a problem can have, and of real shape."""
    small = st.builds(small_random, seeds, st.integers(1, 40), st.integers(1, 3))
    wide = st.builds(detector, seeds, st.just(DetectorParams(6, 1, 9, 2)))
    return st.one_of(small, wide, st.builds(inception, seeds, st.integers(1, 4)))


def specs_of(problem: Problem) -> tuple[DeviceSpec, ...]:
    return tuple(DeviceSpec("cpu", d.name, d.lanes) for d in problem.devices)


@ANY
@given(problem=problems(), seed=seeds)
def test_groups_of_any_task_graph(problem: Problem, seed: int) -> None:
    random = Random(seed)
    costs = Costs(problem, random_service(problem, specs_of(problem), random))
    groups = random_groups(costs, random_devices_of(problem, random), random)
    _check_groups(problem, groups)
    coarse, placement = coarse_problem(groups, costs.service)
    predicted = simulate(coarse, placement)
    check(coarse, placement, predicted)
    assert lower_bounds(coarse).makespan_ns <= predicted.makespan_ns
    ends = {s.index: s.end_ns for s in predicted if s.kind is not SpanKind.COPY}
    assert set(ends) == set(range(len(groups.groups)))


def _check_groups(problem: Problem, groups: GroupGraph) -> None:
    """Each task once; an edge between groups leads forward; edges are the tasks' own."""
    home = {task: index for index, group in enumerate(groups.groups) for task in group.tasks}
    assert sorted(home) == list(range(len(problem.tasks)))
    assert sum(len(group.tasks) for group in groups.groups) == len(home)
    edges = {
        (home[tensor.producer], home[reader])
        for tensor in problem.tensors
        if tensor.producer >= 0
        for reader in tensor.consumers
    }
    crossing = {(a, b) for a, b in edges if a != b}
    assert all(a < b for a, b in crossing)
    assert crossing == {(a, b) for b, row in enumerate(groups.predecessors) for a in row}


@pytest.mark.parametrize("fusion", [0.5, 0.3, 1.0])
def test_the_bound_holds_where_rounding_adds_up(fusion: float) -> None:
    # 3 ns at 0.5 round to 2 ns each, 6,000 ns for all; as one segment they take 4,500 ns.
    count = 3_000
    problem = Problem(
        "chain",
        (Device("cpu"),),
        (),
        tuple(Task(f"t{i}", "Op", (3,)) for i in range(count)),
        tuple(Tensor(f"x{i}", i, (i + 1,), 0) for i in range(count - 1)),
    )
    service = ServiceTimes({(0, 1): [3] * count}, {(0, 1): fusion}, boundary_ns=0)
    costs = Costs(problem, service)
    placement = random_devices_of(problem, Random(0))
    for candidate in candidates(costs, placement):
        bound = lower_bounds(best_case(costs.problem, costs.service)).makespan_ns
        assert bound <= candidate.predicted.makespan_ns


# --- the checker itself: it must see each kind of damage ---

CHAIN = """
<ir_version: 9, opset_import: ["" : 18]>
chain (float[n, 4] x, float[n, 4] z) => (float[n, 4] y, float[n, 4] b) {
    a = Neg(x)  b = Abs(a)  c = Add(a, b)  s = Shape(c)  y = Expand(z, s)
}
"""


@pytest.fixture(scope="module")
def chain(read: Reader) -> tuple[Plan, Callable[[Plan], list[str]]]:
    """A plan of five tasks on two devices, in turn, and its judge."""
    graph, specs = read(onnx.parser.parse_model(CHAIN)), parse_devices("cpu:2,emulated:gpu")
    costs = random_costs(graph, specs, Random(0))
    count = len(graph.tasks)
    placed = Placement(tuple(i % 2 for i in range(count)), tuple(range(count)), "in turn")
    plan = plan_of_groups(graph, per_task(costs.problem, placed), costs.service)
    assert violations(graph, plan, [2, 1]) == []
    return plan, lambda damaged: violations(graph, damaged, [2, 1])


def _with(plan: Plan, index: int, **changes: object) -> Plan:
    segments: list[Segment] = list(plan.segments)
    segments[index] = replace(segments[index], **changes)  # type: ignore[arg-type]
    return replace(plan, segments=tuple(segments))


DAMAGE: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "a task twice": (lambda p: _with(p, 1, tasks=(0, 1)), "exactly one segment"),
    "a task nowhere": (lambda p: replace(p, segments=p.segments[1:]), "exactly one segment"),
    "too wide": (lambda p: _with(p, 0, width=3), "takes 3 lanes"),
    "no such device": (lambda p: _with(p, 0, device=2), "on device 2"),
    "an input too few": (lambda p: _with(p, 2, inputs=("a",)), "its inputs are"),
    "an output too few": (lambda p: _with(p, 0, outputs=()), "its outputs are"),
    "a foreign output": (lambda p: _with(p, 0, outputs=("a", "b")), "its outputs are"),
    "equal ranks": (lambda p: _with(p, 1, rank=0), "ranks are"),
    "a copy too few": (lambda p: replace(p, copies=p.copies[1:]), "is not there"),
    "a copy twice": (lambda p: replace(p, copies=p.copies * 2), "is needless"),
    "a copy for nobody": (
        lambda p: replace(p, copies=(*p.copies, replace(p.copies[0], tensor="z"))),
        "serves nobody",
    ),
    "a copy from elsewhere": (
        lambda p: replace(p, copies=tuple(replace(c, source=c.target) for c in p.copies)),
        "does not lead away",
    ),
    "a bound above its time": (
        lambda p: replace(p, bound_ns=p.predicted.makespan_ns + 1),
        "bound ",
    ),
    "ranks against the data": (
        lambda p: replace(
            p, segments=tuple(replace(s, rank=len(p.segments) - 1 - s.rank) for s in p.segments)
        ),
        "by rank: ",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_checker_sees(kind: str, chain: tuple[Plan, Callable[[Plan], list[str]]]) -> None:
    damage, message = DAMAGE[kind]
    plan, judge = chain
    found = judge(damage(plan))
    assert any(message in line for line in found), found


JOINED = """
<ir_version: 9, opset_import: ["" : 18]>
joined (float[n, 4] x) => (float[n, 20] y) {
    a = Neg(x)  b = Abs(a)  c = Neg(b)  d = Tanh(c)  e = Relu(d)
    f = Sin(a)  g = Sin(b)  h = Sin(c)  i = Sin(d)  j = Sin(e)
    y = Concat <axis = 1> (f, g, h, i, j)
}
"""


def test_partial_joins_are_walked(read: Reader) -> None:
    graph, specs = read(onnx.parser.parse_model(JOINED)), parse_devices("cpu:2")
    problem = constant_problem(graph, specs)
    reader = next(i for i, task in enumerate(graph.tasks) if task.op_type == "Concat")
    makers = tuple(i for i in range(len(graph.tasks)) if i != reader)
    groups = GroupGraph(problem, [TaskGroup(makers, 0), TaskGroup((reader,), 0)])
    plan = plan_of_groups(graph, groups, ServiceTimes.of(problem))
    check_plan(graph, plan, [2])
    (join,) = plan.segments[1].joins
    assert plan.segments[1].inputs == (join.name,)
    turned = replace(join, tensors=join.tensors[::-1])
    found = violations(graph, _with(plan, 1, joins=(turned,)), [2])
    assert any("no run of inputs" in line for line in found)
    found = violations(graph, _with(plan, 1, joins=()), [2])
    assert any("read by 0 segments" in line for line in found)
