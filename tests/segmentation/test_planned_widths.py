"""Where a placement says how wide tasks run, segments are cut and sized by that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.candidates import all_candidates
from surplus.engine.planning.stages import Costs, finest_cut, plan_of
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.segmenter import per_task, segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.holds import Hold
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.validator import check
from tests.constant_costs import constant_problem, moldable_problem, random_widths
from tests.invariants.plan_checker import check_plan
from tests.runtime.runtime_models import read_text
from tests.segmentation.test_segmentation_groups import (
    fork_join,
    graph_problem,
    placed,
    random_graphs,
)

ROWS = """
rows (float[8, 4] x) => (float[8, 4] y)
{ a = Relu(x)  b = Neg(a)  c = Exp(b)  y = Abs(c) }
"""


def halving(problem: Problem) -> ServiceTimes:
    """Times on one lane of the CPU, and half of them on two, where it has two."""
    once = [task.service_ns[0] or 0 for task in problem.tasks]
    two = {(0, 2): [ns // 2 for ns in once]} if problem.devices[0].lanes > 1 else {}
    times = ServiceTimes.of(problem)
    return replace(times, task_ns={**times.task_ns, **two})


def at_widths(problem: Problem, widths: list[int]) -> Placement:
    """All on the CPU."""
    return replace(placed(problem, [0] * len(problem.tasks)), width_of=tuple(widths))


def check_kept(graph: GroupGraph, placement: Placement) -> None:
    """Each group is as wide as each of its tasks, and where these are."""
    for group in graph.groups:
        for task in group.tasks:
            assert group.device == placement.device_of[task]
            assert group.width == placement.width_of[task]


@settings(max_examples=60)
@given(random_graphs(), st.integers(0, 10_000))
def test_every_cut_keeps_the_widths_and_is_a_valid_schedule(
    case: tuple[Problem, list[int]], seed: int
) -> None:
    problem, device_of = case
    service, random = halving(problem), Random(seed)
    widths = tuple(random.choice(service.widths(device)) for device in device_of)
    placement = replace(placed(problem, device_of), width_of=widths)
    found = segment(problem, placement, service)
    assert found
    for candidate in found:
        check_kept(candidate.graph, placement)
        check(*coarse_problem(candidate.graph, service), candidate.predicted)
    check_kept(per_task(problem, placement), placement)


def test_a_chain_is_cut_where_its_width_changes() -> None:
    problem = graph_problem([(i, i + 1) for i in range(5)], [100_000] * 6)
    service = halving(problem)
    (only,) = segment(problem, at_widths(problem, [1, 1, 2, 2, 1, 1]), service)
    assert [g.tasks for g in only.graph.groups] == [(0, 1), (2, 3), (4, 5)]
    # Two on one lane, two in half the time on two, two on one lane; wide ones take 20 µs to start.
    assert only.predicted.makespan_ns == 200_650 + 120_000 + 200_650


def test_a_chain_of_one_width_stays_whole_at_that_width() -> None:
    problem = graph_problem([(i, i + 1) for i in range(5)], [100_000] * 6)
    for width in (1, 2):
        found = segment(problem, at_widths(problem, [width] * 6), halving(problem))
        assert [g.width for c in found for g in c.graph.groups if c.is_trivial] == [width]


def test_what_would_rather_be_wide_stays_narrow() -> None:
    problem = fork_join(branches=2, depth=3, grain_ns=100_000)
    service = halving(problem)
    free = segment(problem, placed(problem, [0] * 8), service)[0]
    assert any(group.width == 2 for group in free.graph.groups)
    best = segment(problem, at_widths(problem, [1] * 8), service)[0]
    assert [g.width for g in best.graph.groups] == [1, 1, 1, 1]


def test_wide_branches_are_packed_for_as_many_as_run_at_once() -> None:
    problem = fork_join(branches=8, depth=3, grain_ns=10_000)
    wide = [1, *[2] * 24, 1]
    best = segment(problem, at_widths(problem, wide), halving(problem))[0]
    # Of two lanes one wide segment runs at a time, so there is one.
    assert [(len(g.tasks), g.width) for g in best.graph.groups] == [(1, 1), (24, 2), (1, 1)]


def test_holds_are_kept_by_segments_of_the_planned_width() -> None:
    problem = graph_problem([(0, 2), (1, 3)], [10_000] * 4)
    placement = replace(at_widths(problem, [1, 1, 2, 1]), holds=(Hold(2, 3),))
    cut = finest_cut(Costs(problem, halving(problem)), placement)
    check_kept(cut.graph, placement)
    assert cut.graph.planned is placement
    check(*coarse_problem(cut.graph, halving(problem)), cut.predicted)


def test_rows_of_a_batch_are_no_shards_of_one_lane_then(tmp_path: Path) -> None:
    graph = read_text(ROWS, tmp_path)
    problem = constant_problem(graph, parse_devices("cpu:2"))
    costs = Costs(problem, halving(problem))
    free = all_candidates(graph, costs, placed(problem, [0] * 4))
    assert any(candidate.shards for candidate in free)
    kept = all_candidates(graph, costs, at_widths(problem, [2] * 4))
    assert [candidate.shards for candidate in kept] == [None] * len(kept)


def test_plans_of_random_widths_can_be_executed_as_they_say(tmp_path: Path) -> None:
    specs = parse_devices("cpu:4,emulated:gpu")
    graph = read_text(ROWS, tmp_path)
    problem = moldable_problem(graph, specs)
    service = ServiceTimes.of(problem)
    wider = {(0, n): [task.service_ns[0] // n for task in problem.tasks] for n in (2, 4)}
    costs = Costs(problem, replace(service, task_ns={**service.task_ns, **wider}))
    for seed in range(20):
        placement = random_widths(problem, seed)
        for candidate in all_candidates(graph, costs, placement):
            plan = plan_of(graph, costs, candidate, "test")
            check_plan(graph, plan, [spec.lanes for spec in specs])
            check_kept(candidate.graph, placement)
            assert [s.width for s in plan.segments] == [g.width for g in candidate.graph.groups]
