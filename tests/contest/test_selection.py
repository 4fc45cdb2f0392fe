"""In-place costs from spans, and plans predicted from them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest

from surplus.engine.contest.contest import ContestTurn
from surplus.engine.contest.in_place import Cost, costs_in_place, outside_ns, typical
from surplus.engine.contest.in_place import refit as refit_turns
from surplus.engine.contest.selection import refit
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.timeline import Span, SpanKind, Timeline
from tests.constant_costs import constant_problem, plan_of_groups
from tests.runtime.pretended import Clock, spans_of
from tests.runtime.runtime_models import read_text

BRANCHES = "two (float[2] x) => (float[2] y) { a = Neg(x)  b = Abs(x)  y = Add(a, b) }"


def _made(tmp_path: Any, devices: str, device_of: tuple[int, ...]) -> tuple[GroupGraph, Plan]:
    graph = read_text(BRANCHES, tmp_path)
    problem = constant_problem(graph, parse_devices(devices))
    found = per_task(problem, Placement(device_of, (0, 1, 2), "by hand"))
    return found, plan_of_groups(graph, found, "by hand")


@pytest.fixture
def host(tmp_path: Any) -> tuple[GroupGraph, Plan]:
    """Two branches that meet, on two lanes."""
    return _made(tmp_path, "cpu:2", (0, 0, 0))


@pytest.fixture
def mixed(tmp_path: Any) -> tuple[GroupGraph, Plan]:
    """The same with one branch on the emulated device."""
    return _made(tmp_path, "cpu:1,emulated:gpu", (0, 1, 0))


def _costs(groups: GroupGraph, turn: ContestTurn) -> dict[int, Cost]:
    return costs_in_place(groups, ServiceTimes.of(groups.problem), turn)


def _turn(timeline: Timeline, outside_ns: int = 0) -> ContestTurn:
    total_ns = timeline.makespan_ns + outside_ns
    return ContestTurn(total_ns, timeline, total_ns)


def _timeline(*rows: tuple[int, tuple[int, ...], int, int]) -> Timeline:
    """From (segment, lanes, start, end)."""
    return Timeline.of(
        [
            Span(SpanKind.SEGMENT, i, f"s{i}", "s", "cpu", lanes, start, start, end)
            for i, lanes, start, end in rows
        ],
        "measured",
    )


def test_hand_overs_count_from_the_last_input_and_the_free_lane(
    host: tuple[GroupGraph, Plan],
) -> None:
    # The branches start 3 and 10 after submission; the join 5 after the later branch.
    timeline = _timeline((0, (0,), 3, 103), (1, (1,), 10, 150), (2, (0,), 155, 200))
    assert _costs(host[0], _turn(timeline)) == {
        0: Cost(100, 3),
        1: Cost(140, 10),
        2: Cost(45, 5),
    }
    assert Cost(140, 10).total_ns == 150


def test_waiting_for_a_lane_is_no_hand_over(host: tuple[GroupGraph, Plan]) -> None:
    timeline = _timeline((0, (0,), 3, 103), (1, (0,), 105, 205), (2, (0,), 206, 226))
    assert _costs(host[0], _turn(timeline))[1] == Cost(100, 2)


def test_a_wide_segment_waits_for_all_its_lanes(host: tuple[GroupGraph, Plan]) -> None:
    timeline = _timeline((0, (0,), 0, 100), (1, (1,), 0, 150), (2, (0, 1), 170, 200))
    assert _costs(host[0], _turn(timeline))[2] == Cost(30, 20)


def test_the_typical_turn_is_the_one_in_the_middle() -> None:
    turns = [_turn(spans_of([time_ns])) for time_ns in (100, 900, 200, 150)]
    assert typical(turns).wall_ns == 150


def test_time_outside_of_the_core() -> None:
    turns = [_turn(spans_of([100]), outside) for outside in (30, 35, 790)]
    assert outside_ns(turns) == 35
    # The traced query took twice as long as the others.
    assert outside_ns([ContestTurn(70, spans_of([100]), 140)]) == 20


def test_a_traced_query_is_scaled_to_the_others(host: tuple[GroupGraph, Plan]) -> None:
    timeline = _timeline((0, (0,), 4, 104), (1, (1,), 10, 150), (2, (0,), 156, 200))
    turn = ContestTurn(110, timeline, 220)
    assert _costs(host[0], turn) == {0: Cost(50, 2), 1: Cost(70, 5), 2: Cost(22, 3)}
    fitted = refit_turns(host[1], host[0], ServiceTimes.of(host[0].problem), [turn])
    assert fitted.predicted.makespan_ns == 110


def test_a_prediction_repeats_the_typical_turn(host: tuple[GroupGraph, Plan]) -> None:
    groups, plan = host
    middle = _timeline((0, (0,), 3, 103), (1, (1,), 10, 150), (2, (0,), 155, 200))
    slow = _timeline((0, (0,), 3, 903), (1, (1,), 10, 950), (2, (0,), 955, 990))
    quick = _timeline((0, (0,), 3, 53), (1, (1,), 10, 60), (2, (0,), 65, 90))
    turns = [_turn(slow, 12), _turn(middle, 12), _turn(quick, 12)]
    fitted = refit_turns(plan, groups, ServiceTimes.of(groups.problem), turns)
    assert [s.service_ns for s in fitted.segments] == [100, 140, 45]
    assert fitted.predicted.makespan_ns == 200 + 12
    assert min(span.start_ns for span in fitted.predicted) == 12
    assert (fitted.name, fitted.copies) == (plan.name, plan.copies)


def test_the_bound_is_of_the_times_in_place(host: tuple[GroupGraph, Plan]) -> None:
    groups, plan = host
    profiled = replace(plan, bound_ns=20_000)  # two tasks of 10 us, one after the other
    timeline = _timeline((0, (0,), 3, 103), (1, (1,), 10, 150), (2, (0,), 155, 200))
    service = ServiceTimes.of(groups.problem)
    fitted = refit_turns(profiled, groups, service, [_turn(timeline)])
    # The longer branch with its hand-over, then the join with its own.
    assert fitted.bound_ns == 150 + 50 == fitted.predicted.makespan_ns


def test_an_emulated_device_keeps_what_it_is_charged(mixed: tuple[GroupGraph, Plan]) -> None:
    groups, plan = mixed
    turn = _turn(spans_of([100, 1, 40]))
    fitted = refit_turns(plan, groups, ServiceTimes.of(groups.problem), [turn])
    emulated = next(i for i, s in enumerate(plan.segments) if s.device == 1)
    expected = [100, 1, 40]
    expected[emulated] = plan.segments[emulated].service_ns
    assert [s.service_ns for s in fitted.segments] == expected


def test_a_segment_that_never_ran_takes_no_time(host: tuple[GroupGraph, Plan]) -> None:
    groups, plan = host
    service = ServiceTimes.of(groups.problem)
    fitted = refit_turns(plan, groups, service, [_turn(Timeline.of([], "measured"), 7)])
    assert [s.service_ns for s in fitted.segments] == [0, 0, 0]
    assert fitted.predicted.makespan_ns == 7


def test_one_model_alone_is_run_so_many_times(host: tuple[GroupGraph, Plan]) -> None:
    groups, plan = host
    clock, runs = Clock(), chain([50_000_000] * 2, [30_000_000, 20_000_000], repeat(40_000_000))

    def run(inputs: Any, traced: bool = False) -> None:
        model.last = next(runs)
        clock.now_ns += model.last

    model: Any = SimpleNamespace(
        plan=plan,
        run=run,
        timeline=lambda: spans_of([model.last, 0, 0]),
        breakdown=lambda: SimpleNamespace(total_ns=model.last + 1_000),
    )
    fitted = refit(model, groups, ServiceTimes.of(groups.problem), {}, runs=5, clock=clock)
    assert fitted.segments[0].service_ns == 40_000_000
    assert fitted.predicted.makespan_ns == 40_001_000
