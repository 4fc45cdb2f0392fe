"""Choosing and refitting, with models that only pretend to take time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest
from constant_costs import constant_problem, plan_of_groups
from runtime_models import read_text

from engine.profiling.devices import parse_devices
from engine.runtime.selection import interleaved_ns, refit, relative_times
from engine.segmentation.groups import GroupGraph
from engine.segmentation.plan import Plan
from engine.segmentation.segmenter import per_task
from engine.segmentation.service import ServiceTimes
from placement.placement import Placement
from placement.timeline import Span, SpanKind, Timeline

SPECS = parse_devices("cpu:1,emulated:gpu")
BRANCHES = "two (float[2] x) => (float[2] y) { a = Neg(x)  b = Abs(x)  y = Add(a, b) }"


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class Pretended:
    """Takes the times given, the last one for ever; notes in a shared list that it ran."""

    def __init__(self, clock: Clock, times_ns: list[int], order: list[Pretended]) -> None:
        self._clock = clock
        self._times: Iterator[int] = chain(times_ns, repeat(times_ns[-1]))
        self._order = order

    def run(self, inputs: Any, traced: bool = False) -> None:
        self._order.append(self)
        self._clock.now_ns += next(self._times)


def test_each_round_runs_all_and_begins_with_the_next() -> None:
    clock, order = Clock(), []
    first = Pretended(clock, [900, 10, 30, 20], order)
    second = Pretended(clock, [5], order)
    models: Any = [first, second]
    rounds = interleaved_ns(models, {}, budget_ns=0, min_rounds=3, clock=clock)
    assert rounds == [[10, 5], [30, 5], [20, 5]]
    assert order == [first, second, first, second, second, first, first, second]


def test_rounds_until_the_time_is_spent() -> None:
    clock, order = Clock(), []
    models: Any = [Pretended(clock, [100], order)]
    assert interleaved_ns(models, {}, budget_ns=1_000, clock=clock) == [[100]] * 10
    assert len(order) == 1 + 10


def test_ratios_within_rounds_do_not_mind_a_machine_that_changes_speed() -> None:
    # The second model is always a tenth faster; the machine halves its speed for two rounds.
    rounds = [[100, 90], [200, 180], [200, 180], [100, 90], [100, 90]]
    assert relative_times(rounds, reference=0) == [1.0, 0.9]


@pytest.fixture
def groups(tmp_path: Any) -> tuple[GroupGraph, Plan]:
    """Two branches, one of them on the emulated device."""
    graph = read_text(BRANCHES, tmp_path)
    problem = constant_problem(graph, SPECS)
    found = per_task(problem, Placement((0, 1, 0), (0, 1, 2), "by hand"))
    return found, plan_of_groups(graph, found, "by hand")


class Traced:
    """Has timelines in which segment i takes ``times[i]`` in each run."""

    def __init__(self, plan: Plan, runs: list[list[int]]) -> None:
        self.plan = plan
        self._runs = iter(runs)
        self._last: list[int] = []

    def run(self, inputs: Any, traced: bool = False) -> None:
        if traced:
            self._last = next(self._runs)

    def timeline(self) -> Timeline:
        spans = [
            Span(SpanKind.SEGMENT, i, f"s{i}", "s", "cpu", (0,), 0, 0, time_ns)
            for i, time_ns in enumerate(self._last)
        ]
        copy = Span(SpanKind.COPY, 0, "x", "copy", "host->gpu", (0,), 0, 0, 77)
        return Timeline.of([*spans, copy], "measured")


def test_refit_takes_medians(groups: tuple[GroupGraph, Plan]) -> None:
    found, plan = groups
    runs = [[100, 1, 40], [900, 2, 60], [200, 3, 50]]
    model: Any = Traced(plan, runs)
    service = ServiceTimes.of(found.problem)
    fitted = refit(model, found, service, {}, runs=3)
    emulated = next(i for i, s in enumerate(plan.segments) if s.device == 1)
    expected = [200, 2, 50]
    expected[emulated] = plan.segments[emulated].service_ns
    assert [s.service_ns for s in fitted.segments] == expected
    durations = {s.index: s.duration_ns for s in fitted.predicted if s.kind is not SpanKind.COPY}
    assert durations == dict(enumerate(expected))
    assert (fitted.name, fitted.copies, fitted.bound_ns) == (plan.name, plan.copies, plan.bound_ns)


def test_refit_with_a_segment_never_seen(groups: tuple[GroupGraph, Plan]) -> None:
    found, plan = groups
    model: Any = SimpleNamespace(
        plan=plan, run=lambda *_, **__: None, timeline=lambda: Timeline.of([], "measured")
    )
    fitted = refit(model, found, ServiceTimes.of(found.problem), {}, runs=1)
    assert [s.service_ns for s in fitted.segments if s.device == 0] == [0, 0]
