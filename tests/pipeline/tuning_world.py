"""A model whose true times are known, and a machine that runs any plan of it on a fake clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surplus.engine.contest.contest import ContestTurn
from surplus.engine.planning.tune_params import TuneParams
from surplus.engine.planning.tuning import Tuned, Tuner
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.segmenter import Candidate, segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.timeline import Span, SpanKind, Timeline

HEAD_NS, BRANCH_NS, TAIL_NS = 10_000_000, 500_000, 100_000
BRANCHES, DEPTH = 12, 3
BUILD_NS = 1_000_000


class Clock:
    """Stands still unless something runs."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def _problem() -> Problem:
    """A heavy head, twelve chains side by side, a tail; on two lanes."""
    times = [HEAD_NS, *[BRANCH_NS] * (BRANCHES * DEPTH), TAIL_NS]
    last = len(times) - 1
    after: list[list[int]] = [[] for _ in times]
    for branch in range(BRANCHES):
        first = 1 + branch * DEPTH
        after[0].append(first)
        for task in range(first, first + DEPTH):
            after[task] = [task + 1 if task < first + DEPTH - 1 else last]
    tasks = tuple(Task(f"t{i}", "Op", (time,)) for i, time in enumerate(times))
    tensors = tuple(
        Tensor(f"v{i}", i, tuple(row), 8, is_output=not row) for i, row in enumerate(after)
    )
    return Problem("world", (Device("cpu", 2),), (), tasks, tensors)


PROBLEM = _problem()
_NARROW = [task.service_ns[0] for task in PROBLEM.tasks]
GUESS = ServiceTimes({(0, 1): _NARROW, (0, 2): [ns // 2 for ns in _NARROW if ns]})
"""The profile thinks that everything takes half the time on two lanes."""

LONG_BRANCHES = 4
_TRUE = [
    ns * (3 if 1 <= task <= LONG_BRANCHES * DEPTH else 1) for task, ns in enumerate(_NARROW) if ns
]
TRUTH = ServiceTimes({(0, 1): _TRUE, (0, 2): [HEAD_NS // 2, *_TRUE[1:]]}, boundary_ns=8_000)
"""Only the head does, some branches take longer than thought, and so does starting a segment."""

SHORTEST_NS = HEAD_NS // 2 + TAIL_NS + (BRANCHES + 2 * LONG_BRANCHES) * DEPTH * BRANCH_NS // 2
"""No plan can be shorter: the head on both lanes, the branches dealt out evenly."""

LINEAR = ServiceTimes(
    {key: [round(ns * 1.3) for ns in row if ns] for key, row in GUESS.task_ns.items()},
    boundary_ns=500_000,
)
"""Here nothing gains from being cut."""


def cut(service: ServiceTimes) -> Sequence[Candidate]:
    """All candidates of the segmenter."""
    placement = Placement((0,) * len(_NARROW), tuple(range(len(_NARROW))), "test")
    return segment(PROBLEM, placement, service)


@dataclass
class Machine:
    """Builds contenders; its speed may change and its times may scatter."""

    truth: ServiceTimes
    clock: Clock = field(default_factory=Clock)
    slowness: Callable[[int], float] = lambda now_ns: 1.0
    scatter: float = 0.0
    luck: Callable[[Candidate, int], float] = lambda candidate, runs: 1.0
    refuses: Callable[[Candidate], bool] = lambda candidate: False
    built: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(11)

    def build(self, candidate: Candidate) -> FakeContender | None:
        self.clock.now_ns += BUILD_NS
        self.built.append(candidate.name)
        return None if self.refuses(candidate) else FakeContender(self, candidate)

    def tune(self, time_s: float = 20.0, **params: Any) -> Tuned[FakeContender] | None:
        tuner = Tuner(GUESS, cut, self.build, TuneParams(time_s, **params), self.clock)
        ranked = cut(GUESS)
        whole = sorted((c for c in ranked if c.is_trivial), key=lambda c: c.graph.groups[0].width)
        return tuner.run([*whole, *[c for c in ranked if not c.is_trivial][:2]])


@dataclass
class FakeContender:
    """Takes the times that the truth says, more or less as its machine has it."""

    machine: Machine
    candidate: Candidate
    runs: int = 0

    def true_ns(self) -> int:
        """What a query takes on a quiet machine."""
        return self._timeline(1.0).makespan_ns

    def run(self) -> None:
        self.run_traced()

    def run_traced(self) -> ContestTurn:
        machine = self.machine
        factor = machine.slowness(machine.clock.now_ns)
        factor *= machine.random.lognormvariate(0, machine.scatter)
        factor *= machine.luck(self.candidate, self.runs)
        self.runs += 1
        timeline = self._timeline(factor)
        machine.clock.now_ns += timeline.makespan_ns
        return ContestTurn(timeline.makespan_ns, timeline, timeline.makespan_ns)

    def _timeline(self, factor: float) -> Timeline:
        graph = self.candidate.graph
        times = {
            i: round(self.machine.truth.of_group(group) * factor)
            for i, group in enumerate(graph.groups)
        }
        spans = predict(graph, self.machine.truth, times, self.candidate.order)
        return Timeline.of(map(_as_segment, spans), "measured")


def _as_segment(span: Span) -> Span:
    return span if span.kind is SpanKind.COPY else replace(span, kind=SpanKind.SEGMENT)
