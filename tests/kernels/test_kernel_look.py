"""Whose kernels a plan gets: what is shown to be faster, by segment, within the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from surplus.engine.contest.contest import ContestTurn
from surplus.engine.contest.selection import ModelContender
from surplus.engine.planning.kernel_look import KernelLook, Shown
from surplus.engine.planning.kernel_memory import kernel_bytes, within
from surplus.engine.planning.kernel_segments import KernelSegments
from surplus.engine.planning.kernel_widths import with_any_width
from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan, Segment, SegmentKernels
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.timeline import Span, SpanKind, Timeline

MS = 1_000_000
OURS, THEIRS = "", "openvino"


@dataclass
class Clock:
    now_ns: int = 0

    def __call__(self) -> int:
        return self.now_ns


@dataclass
class FakeModel:
    """Answers after what its segments take by the kernels that the plan names."""

    plan: Plan
    times_ns: Mapping[str, list[int]]
    clock: Clock
    bits: Callable[[Plan], int] = lambda plan: 0

    def run(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self.clock.now_ns += sum(self.segments_ns())
        return {"y": np.array([self.bits(self.plan)])}

    def segments_ns(self) -> list[int]:
        return [
            self.times_ns[s.kernels.library if s.kernels else OURS][i] // s.width
            for i, s in enumerate(self.plan.segments)
        ]


class FakeContender(ModelContender):
    def run_traced(self) -> ContestTurn:
        model = cast("FakeModel", self.model)
        spans, end_ns = [], 0
        for index, ns in enumerate(model.segments_ns()):
            begin_ns, end_ns = end_ns, end_ns + ns
            spans.append(
                Span(SpanKind.SEGMENT, index, "s", "s", "cpu", (0,), begin_ns, begin_ns, end_ns)
            )
        self.run()
        return ContestTurn(end_ns, Timeline(tuple(spans), "measured"), end_ns)


@dataclass
class FakeSegments:
    """A library that takes some segments."""

    takes: set[int]
    weight_bytes: int = 10
    library: str = THEIRS
    asked: list[Plan] = field(default_factory=list)

    def of(self, plan: Plan, lanes: int) -> dict[int, SegmentKernels]:
        self.asked.append(plan)
        return {
            i: SegmentKernels(THEIRS, (), (), lanes // s.width, self.weight_bytes)
            for i, s in enumerate(plan.segments)
            if i in self.takes
        }


class Taken:
    """Others have the cores."""

    def lately(self, since_ns: int) -> Disturbance:
        return Disturbance(taken=0.9)

    def overall(self) -> Disturbance:
        return Disturbance(taken=0.9)


@dataclass
class Setting:
    """A plan of some segments in a chain, and what each takes by either library."""

    ours_ms: list[int]
    theirs_ms: list[int]
    takes: set[int] | None = None
    width: int = 1
    memory_bytes: int = 1000
    watch: Callable[[], Any] = lambda: None
    bits: Callable[[Plan], int] = lambda plan: 0
    clock: Clock = field(default_factory=Clock)
    segments: FakeSegments = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.ours_ms)
        self.segments = FakeSegments(set(range(count)) if self.takes is None else self.takes)

    def contender(self, plan: Plan) -> ModelContender:
        times = {OURS: self.ours_ms, THEIRS: self.theirs_ms}
        scaled = {name: [ms * MS for ms in row] for name, row in times.items()}
        model = FakeModel(plan, scaled, self.clock, self.bits)
        return FakeContender(cast("Any", model), {"x": np.ones(1, np.float32)})

    def chosen(self) -> Shown:
        count = len(self.ours_ms)
        tasks = tuple(Task(f"t{i}", "Op", (1,), default_device=0) for i in range(count))
        tensors = tuple(Tensor(f"v{i}", i, (i + 1,), 0) for i in range(count - 1))
        problem = Problem("p", (Device("cpu", 2, "host"),), (), tasks, tensors)
        groups = GroupGraph(problem, [TaskGroup((i,), 0, self.width) for i in range(count)])
        plan = Plan(
            "hash",
            "chain",
            "policy",
            ("cpu",),
            ("host",),
            tuple(Segment(f"s{i}", 0, self.width, (i,), (), (), i, 1) for i in range(count)),
            (),
            Timeline((), "predicted"),
            0,
        )
        contender = self.contender(plan)
        return Shown(contender, groups, ServiceTimes.of(problem), [contender.run_traced()])

    def look(self, build: Callable[[Plan], ModelContender | None] | None = None) -> KernelLook:
        return KernelLook(
            [cast("KernelSegments", self.segments)],
            build or self.contender,
            2,
            self.memory_bytes,
            2000 * MS,
            self.clock,
            self.watch,
        )

    def kernels(self) -> list[str] | None:
        """Of each segment of the plan that wins; None if nothing is better."""
        won = self.look().better(self.chosen(), [])
        return None if won is None else _libraries(won.best.plan)


def _libraries(plan: Plan) -> list[str]:
    return [s.kernels.library if s.kernels else OURS for s in plan.segments]


def test_a_faster_library_takes_all_segments() -> None:
    assert Setting([20, 20], [10, 15]).kernels() == [THEIRS, THEIRS]


def test_a_slower_library_takes_none() -> None:
    assert Setting([20, 20], [25, 30]).kernels() is None


def test_little_is_not_worth_other_bits() -> None:
    assert Setting([100], [98]).kernels() is None
    assert Setting([100], [95]).kernels() == [THEIRS]


def test_each_segment_gets_the_kernels_that_are_faster_there() -> None:
    assert Setting([20, 20, 20], [10, 40, 12]).kernels() == [THEIRS, OURS, THEIRS]


def test_what_a_library_does_not_take_stays() -> None:
    setting = Setting([20, 20], [10, 10], takes={1})
    assert setting.kernels() == [OURS, THEIRS]
    assert Setting([20, 20], [10, 10], takes=set()).kernels() is None


def test_on_a_machine_that_others_use_nothing_changes() -> None:
    assert Setting([20, 20], [10, 10], watch=Taken).kernels() is None


def test_what_answers_wrongly_is_not_taken() -> None:
    setting = Setting([20], [10])
    assert setting.look(lambda plan: None).better(setting.chosen(), []) is None
    assert setting.look(lambda plan: None).forced(setting.chosen()) is None


def test_a_library_that_is_asked_for_is_taken_though_it_is_slower() -> None:
    setting = Setting([20], [30])
    won = setting.look().forced(setting.chosen())
    assert won is not None
    assert _libraries(won.best.plan) == [THEIRS]
    assert won.best.turns


def test_weights_stay_within_the_memory() -> None:
    fits, single, none = (Setting([20], [10], memory_bytes=b) for b in (20, 19, 9))
    copies = []
    for setting in (fits, single):
        won = setting.look().better(setting.chosen(), [])
        assert won is not None
        kernels = won.best.plan.segments[0].kernels
        assert kernels is not None
        copies.append(kernels.copies)
        assert kernel_bytes(won.best.plan) <= setting.memory_bytes
    assert copies == [2, 1]
    assert none.kernels() is None
    plain = none.chosen().plan
    assert within(plain, 0) is plain


@pytest.mark.parametrize("same", [True, False])
def test_one_segment_may_run_on_one_lane_if_its_bits_are_the_same_there(same: bool) -> None:
    bits = (lambda plan: 0) if same else (lambda plan: plan.segments[0].width)
    setting = Setting([20], [10], width=2, bits=bits)
    look = setting.look()
    won = look.better(setting.chosen(), [])
    assert won is not None
    plan = with_any_width(look, won.best, {"x": np.ones(1, np.float32)})
    kernels = plan.segments[0].kernels
    assert kernels is not None
    assert kernels.any_width == same


def test_another_plan_may_do_best_with_a_library() -> None:
    setting = Setting([20], [16], width=1)
    chosen = setting.chosen()
    wide = replace(chosen.plan, segments=(replace(chosen.plan.segments[0], width=2),))
    contender = setting.contender(wide)
    other = replace(chosen, contender=contender, turns=[contender.run_traced()])
    won = setting.look().better(chosen, [other])
    assert won is not None
    assert won.best.plan.segments[0].width == 2


def test_of_two_that_are_about_as_fast_the_one_of_fewer_segments_is_taken() -> None:
    setting = Setting([10, 10], [5, 5])
    chosen = setting.chosen()
    single = Setting([20], [10], clock=setting.clock)
    whole = single.chosen()

    def build(plan: Plan) -> ModelContender:
        return (single if len(plan.segments) == 1 else setting).contender(plan)

    won = setting.look(build).better(chosen, [whole])
    assert won is not None
    assert _libraries(won.best.plan) == [THEIRS]


@pytest.mark.parametrize("is_forced", [True, False])
def test_a_model_that_is_cut_for_a_library_runs_with_it(is_forced: bool) -> None:
    setting = Setting([5, 15], [5, 5], takes={1})
    cut = replace(setting.chosen(), turns=())
    single = Setting([20], [20], takes=set(), clock=setting.clock)
    whole = single.chosen()

    def build(plan: Plan) -> ModelContender:
        return (single if len(plan.segments) == 1 else setting).contender(plan)

    look = setting.look(build)
    won = look.forced(whole, [cut]) if is_forced else look.better(whole, [], [cut])
    assert won is not None
    assert _libraries(won.best.plan) == [OURS, THEIRS]
    assert won.best.turns
