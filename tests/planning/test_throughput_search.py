"""Which plan becomes the throughput plan of another, and that it must be shown to be better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import pytest

from surplus.engine.errors import ExecutionError
from surplus.engine.planning.first_plans import whole_models
from surplus.engine.planning.periodic_plan import periodic
from surplus.engine.planning.stages import Costs
from surplus.engine.planning.throughput_candidates import (
    JudgedThroughput,
    balanced,
    crowd,
    judge,
    promising,
)
from surplus.engine.planning.throughput_search import ThroughputSearch
from surplus.engine.planning.tuning import Entrant
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Device, Link
from surplus.placement.timeline import SpanKind, Timeline
from tests.pipeline.tuning_world import PROBLEM, Clock

CPU, GPU = 0, 1
MS = 1_000_000
COUNT = len(PROBLEM.tasks)


def costs_of(memory_bytes: int | None = None, gpus: int = 1) -> Costs:
    """A head of 10 ms, 36 tasks of 0.5 ms side by side, a tail; a GPU takes 1.5 times as long
    for all but the head, which it does in 1 ms."""
    names = ["gpu", *(f"gpu {number}" for number in range(2, gpus + 1))]
    tasks = tuple(
        replace(
            t,
            service_ns=(
                t.service_ns[0],
                *[MS if i == 0 else round(1.5 * (t.service_ns[0] or 0))] * gpus,
            ),
            default_device=GPU,
            weight_bytes=100,
        )
        for i, t in enumerate(PROBLEM.tasks)
    )
    links = tuple(Link(*pair, 1_000) for pair in permutations(["host", *names], 2))
    devices = (Device("cpu"), *(Device(name, 1, name, memory_bytes) for name in names))
    problem = replace(PROBLEM, devices=devices, links=links, tasks=tasks)
    return Costs(problem, replace(ServiceTimes.of(problem), problem=problem))


COSTS = costs_of()


def candidate(name: str, on_cpu: range, costs: Costs = COSTS) -> Candidate:
    """A segment of the given tasks on the CPU, one of the others before them and one after them
    on the GPU."""
    parts = [range(on_cpu.start), on_cpu, range(on_cpu.stop, COUNT)]
    groups = [TaskGroup(tuple(p), CPU if p == on_cpu else GPU) for p in parts if len(p)]
    graph = GroupGraph(costs.problem, groups)
    return Candidate(name, graph, predict(graph, costs.service))


WHOLE = candidate("whole", range(0, 0))
EVEN = candidate("even", range(1, 25))
LATE = candidate("late", range(13, 37))
LESS = candidate("less", range(1, 13))
HARDLY = candidate("hardly", range(1, 4))


def test_the_busiest_resource_is_found() -> None:
    judged = judge(COSTS, EVEN)
    assert judged.busiest == "cpu"
    assert 24 * 500_000 <= judged.busiest_ns < 1.01 * 24 * 500_000
    assert judge(COSTS, WHOLE).busiest == "gpu"
    assert judged.saturation == EVEN.predicted.makespan_ns / judged.busiest_ns


def test_the_least_bottleneck_comes_first_then_the_shorter_query() -> None:
    later = Timeline.of((span.later(MS) for span in EVEN.predicted), "later")
    slower = replace(EVEN, name="a slower one", predicted=later, order=(0, 2, 1))
    chosen = promising(COSTS, WHOLE, [WHOLE, LESS, slower, EVEN, HARDLY])
    assert [j.candidate.name for j in chosen] == ["even", "a slower one", "less"]
    held = [j.busiest_ns for j in chosen]
    assert held == sorted(held)
    assert judge(COSTS, HARDLY).busiest_ns > 0.9 * judge(COSTS, WHOLE).busiest_ns
    assert promising(COSTS, EVEN, [WHOLE, LATE, LESS]) == []


def test_placing_for_throughput_finds_a_lesser_bottleneck_than_one_query_wants() -> None:
    known = whole_models(COSTS)
    own = min(known, key=lambda c: c.predicted.makespan_ns)
    best = promising(COSTS, own, [*known, *balanced(COSTS)])[0]
    # 1.1 ms are the GPU's alone; 18 ms of the CPU's or 27 of the GPU's are shared evenly at best.
    assert best.busiest_ns < 1.15 * (18 - 18 * 18 / 45 + 0.7) * MS
    assert {group.device for group in best.candidate.graph.groups} == {CPU, GPU}


def test_a_second_gpu_takes_its_share() -> None:
    costs = costs_of(gpus=2)
    best = min(judge(costs, candidate).busiest_ns for candidate in balanced(costs))
    # As above: 18 ms of the CPU's or 27 of one of the GPUs', but for 1.1 ms.
    assert best < 1.15 * (1 / (1 / 18 + 2 / 27) + 0.7) * MS


def test_a_throughput_plan_holds_no_constants_in_a_limited_memory_that_the_plan_does_not() -> None:
    costs = costs_of(3_000)
    own = candidate("own", range(1, 25), costs)
    more = candidate("more", range(1, 13), costs)
    fewer = candidate("fewer", range(1, 30), costs)
    cheap = replace(costs, service=replace(costs.service, measured={own.graph.groups[1]: 90 * MS}))
    names = [j.candidate.name for j in promising(cheap, own, [more, fewer])]
    assert names == ["fewer"]
    assert [
        j.candidate.name
        for j in promising(replace(cheap, problem=COSTS.problem), own, [more, fewer])
    ] == ["fewer", "more"]


def test_it_begins_where_the_busiest_resource_of_the_plan_is_busy_all_its_time() -> None:
    own, other = JudgedThroughput(WHOLE, "gpu", 10 * MS), JudgedThroughput(WHOLE, "gpu", 5 * MS)
    makespan_ns = WHOLE.predicted.makespan_ns
    assert crowd(own, other) == round(makespan_ns / (10 * MS))
    assert crowd(replace(own, busiest_ns=makespan_ns), other) == 2


@dataclass
class FakeFuture:
    clock: Clock
    takes_ns: int

    def result(self) -> None:
        self.clock.now_ns += self.takes_ns


@dataclass
class FakeModel:
    """Answers overlapping queries one after the other."""

    clock: Clock
    takes_ns: int
    plan: Any = None
    queueing: Queueing | None = None

    def be_queued(self, queueing: Queueing) -> None:
        self.queueing = queueing

    def submit(self, inputs: Any) -> FakeFuture:
        return FakeFuture(self.clock, self.takes_ns)


@dataclass
class FakeContender:
    model: FakeModel


class FailingModel(FakeModel):
    def submit(self, inputs: Any) -> FakeFuture:
        raise ExecutionError("a query failed")


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_failing_query_costs_the_throughput_plan_and_a_lost_device_everything(
    is_lost: bool,
) -> None:
    def build(c: Candidate) -> Any:
        return FakeContender(FailingModel(Clock(), MS, "plan"))

    search: Any = ThroughputSearch(COSTS, build, {}, 2_000 * MS, Clock(), lambda: is_lost)
    own = Entrant(WHOLE, build(WHOLE))
    if is_lost:
        with pytest.raises(ExecutionError, match="a query failed"):
            search.best(own, [EVEN])
    else:
        assert search.best(own, [EVEN]) is None


def searched(true_ms: dict[str, float], known: list[Candidate], own: Candidate = WHOLE) -> Any:
    """The throughput plan that is found where overlapping queries take so long each, by name."""
    clock = Clock()
    names = {c.graph.groups: c.name for c in [own, *known]}

    def build(c: Candidate) -> Any:
        name = names.get(c.graph.groups, "balanced")
        takes_ms = true_ms.get(name)
        return (
            None if takes_ms is None else FakeContender(FakeModel(clock, int(takes_ms * MS), name))
        )

    search: Any = ThroughputSearch(COSTS, build, {}, 2_000 * MS, clock)
    return search.best(Entrant(own, build(own)), known)


def test_the_promised_one_is_taken_if_it_is_measured_to_be_better() -> None:
    found = searched({"whole": 28, "even": 13, "balanced": 15}, [EVEN, LESS])
    assert found.plan in ("even", "balanced")
    grounds = found.grounds
    assert (grounds.own_busiest, grounds.own_busiest_ns) == ("gpu", judge(COSTS, WHOLE).busiest_ns)
    assert grounds.busiest_ns <= 0.9 * grounds.own_busiest_ns
    assert grounds.time_ratio == pytest.approx(13 / 28 if found.plan == "even" else 15 / 28)


def test_challengers_run_as_their_periodic_schedules_have_it() -> None:
    clock = Clock()
    built: list[tuple[Candidate, FakeModel]] = []

    def build(c: Candidate) -> Any:
        model = FakeModel(clock, (28 if c is WHOLE else 13) * MS, c.name)
        built.append((c, model))
        return FakeContender(model)

    search: Any = ThroughputSearch(COSTS, build, {}, 2_000 * MS, clock)
    found = search.best(Entrant(WHOLE, build(WHOLE)), [EVEN])
    assert built[0][1].queueing is None
    for candidate, model in built[1:]:
        plain = replace(candidate, order=None)
        expected = periodic(COSTS, plain)
        assert expected is not None
        assert candidate == expected.candidate
        assert model.queueing == Queueing.window(expected.in_flight)
        starts = [0] * len(candidate.graph.groups)
        for span in candidate.predicted:
            if span.kind is not SpanKind.COPY:
                starts[span.index] = span.start_ns
        assert candidate.order is not None
        in_order = sorted(range(len(starts)), key=candidate.order.__getitem__)
        assert [starts[group] for group in in_order] == sorted(starts)
    taken = next(c for c, model in built if model.plan == found.plan)
    expected = periodic(COSTS, replace(taken, order=None))
    assert expected is not None
    assert found.grounds.in_flight == expected.in_flight
    assert found.grounds.interval_ns == expected.interval_ns >= found.grounds.busiest_ns


@pytest.mark.parametrize("measured_ms", [28, 27.5, 40])
def test_one_that_is_not_better_when_queries_overlap_is_not_kept(measured_ms: float) -> None:
    assert (
        searched(dict.fromkeys(("even", "balanced"), measured_ms) | {"whole": 28}, [EVEN]) is None
    )


@pytest.mark.parametrize(
    ("second_ms", "takes_second"), [(25, False), (24.9, False), (26, False), (20, True)]
)
def test_of_two_that_are_better_the_promised_one_unless_the_other_is_shown_to_be(
    second_ms: float, takes_second: bool
) -> None:
    chosen = promising(COSTS, WHOLE, [EVEN, *balanced(COSTS)])
    first, second = ("even" if j.candidate is EVEN else "balanced" for j in chosen[:2])
    assert first != second
    found = searched({"whole": 28, first: 25, second: second_ms}, [EVEN])
    assert found.plan == (second if takes_second else first)


def test_what_no_device_takes_is_no_throughput_plan() -> None:
    assert searched({"whole": 28}, [EVEN, LESS]) is None


def test_long_queries_are_not_compared() -> None:
    clock = Clock()
    search: Any = ThroughputSearch(COSTS, lambda c: pytest.fail("built"), {}, MS, clock)
    assert search.best(Entrant(WHOLE, None), [EVEN]) is None
