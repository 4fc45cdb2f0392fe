"""Throughput plans that are there several times, on GPUs that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from surplus.engine.planning.first_plans import whole_models
from surplus.engine.planning.replication import Replication, replications
from surplus.engine.planning.stages import Costs, fits_memory
from surplus.engine.planning.throughput_candidates import (
    balanced,
    copies_of,
    judge,
    promising,
    replicable,
)
from surplus.engine.planning.throughput_search import ThroughputSearch
from surplus.engine.planning.tuning import Entrant
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.balance import Balance
from surplus.placement.problem import Problem
from tests.placement.several_gpus import chain_too_large_for_one, on_gpus
from tests.planning.test_throughput_search import Clock, FakeContender, FakeModel

MS = 1_000_000
CHAIN = [(30 * MS, 4 * MS)] * 8
EDGES = [(i, [i + 1], 1) for i in range(7)]


def costs_of(problem: Problem) -> Costs:
    return Costs(problem, replace(ServiceTimes.of(problem), problem=problem, boundary_ns=0))


def chain_on(gpus: int) -> Costs:
    return costs_of(on_gpus(gpus, CHAIN, EDGES))


def whole_on_a_gpu(costs: Costs) -> Candidate:
    return next(c for c in whole_models(costs) if c.graph.groups[0].device == 1)


@pytest.mark.parametrize(
    ("gpus", "groups"),
    [
        (1, []),
        (2, [((1,), (2,))]),
        (3, [((1,), (2,), (3,))]),
        (4, [((1,), (2,), (3,), (4,)), ((1, 2), (3, 4))]),
    ],
)
def test_gpus_are_shared_out_in_all_ways(gpus: int, groups: list[Any]) -> None:
    assert [r.groups for r in replications(chain_on(gpus).problem)] == groups


def test_gpus_that_are_not_alike_have_no_copies_of_each_other() -> None:
    problem = chain_on(3).problem
    slower = tuple(
        replace(t, service_ns=(*t.service_ns[:3], 2 * (t.service_ns[3] or 0)))
        for t in problem.tasks
    )
    smaller = (*problem.devices[:3], replace(problem.devices[3], memory_bytes=1 << 30))
    shared = (*problem.devices[:2], *(replace(d, memory="gpu1") for d in problem.devices[2:]))
    kept = tuple(link for link in problem.links if "gpu2" not in (link.source, link.target))
    for other in (
        replace(problem, tasks=slower),
        replace(problem, devices=smaller),
    ):
        assert [r.groups for r in replications(other)] == [((1,), (2,))]
    partitions = replace(problem, devices=shared, links=kept)
    assert list(replications(partitions)) == []


def test_what_a_query_holds_of_gpus_is_divided_and_of_the_cpu_is_not() -> None:
    costs = chain_on(2)
    replication = Replication(((1,), (2,)), 3)
    held = {"cpu": 10, "gpu0": 9, "gpu1": 7, "host->gpu0": 8, "gpu0 submission": 3}
    assert replication.shared(costs.problem, held) == {
        "cpu": 10,
        "gpu0": 5,
        "gpu1": 7,
        "host->gpu0": 4,
        "gpu0 submission": 2,
    }


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_chain_is_there_once_for_each_gpu(gpus: int) -> None:
    costs = chain_on(gpus)
    own = whole_on_a_gpu(costs)
    best = promising(costs, own, [own], list(replicable(costs, [own])))[0]
    assert best.replication is not None
    assert best.replication.count == gpus
    # 32 ms of a GPU; the CPU's share of what all do together makes it a little less.
    assert best.busiest_ns <= 32 * MS / gpus
    assert {group.device for group in best.candidate.graph.groups} <= {0, 1}


def test_placed_for_copies_the_cpu_does_its_share_for_all_of_them() -> None:
    problem = on_gpus(4, [(10 * MS, 4 * MS)] * 16)
    four = next(replications(problem))
    costs = four.on_first(costs_of(problem))
    on_cpu = [
        place(costs.problem).device_of.count(0)
        for place in (Balance().place, partial(four.placed, Balance().place))
    ]
    # 40 ms beside 48 of one GPU for it alone; 10 beside 60 of four, a fourth of which is 15.
    assert on_cpu == [4, 1]


def test_a_model_too_large_for_one_is_there_once_for_each_two() -> None:
    two = chain_too_large_for_one(2)
    each = two.devices[1].memory_bytes
    problem = chain_too_large_for_one(4)
    devices = tuple(replace(d, memory_bytes=d.memory_bytes and each) for d in problem.devices)
    costs = costs_of(replace(problem, devices=devices))
    copies = {r.count: placed for r, placed in replicable(costs, [])}
    assert copies[4] == []
    assert copies[2] != []
    for candidate in copies[2]:
        assert {group.device for group in candidate.graph.groups} == {1, 2}
        assert fits_memory(costs, candidate)


def test_copies_are_on_the_other_gpus() -> None:
    costs = chain_on(4)
    two = next(r for r in replications(costs.problem) if r.count == 2)
    candidate = balanced(costs, replication=two)[0]
    (other,) = copies_of(costs, candidate, two)
    there = {0: 0, 1: 3, 2: 4}
    assert [g.tasks for g in other.graph.groups] == [g.tasks for g in candidate.graph.groups]
    assert [g.device for g in other.graph.groups] == [
        there[g.device] for g in candidate.graph.groups
    ]


@dataclass
class Gpus:
    """Queries of fakes take what their busiest device is held for, each on its own."""

    clock: Clock
    costs: Costs

    def build(self, candidate: Candidate) -> Any:
        model = FakeModel(self.clock, judge(self.costs, candidate).busiest_ns, candidate.name)
        return FakeContender(model)


def test_the_search_opens_each_copy_and_says_where_they_are() -> None:
    costs = chain_on(2)
    own = whole_on_a_gpu(costs)
    clock = Clock()
    gpus = Gpus(clock, costs)
    built: list[Candidate] = []

    def build(candidate: Candidate) -> Any:
        built.append(candidate)
        contender = gpus.build(candidate)
        if candidate is not own and len({g.device for g in candidate.graph.groups} - {0}) == 1:
            contender.model.takes_ns //= 2  # two side by side
        return contender

    search: Any = ThroughputSearch(costs, build, {}, 2_000 * MS, clock)
    found = search.best(Entrant(own, build(own)), [own])
    assert found.replicas == ((0, 2, 2),)
    used = [{g.device for g in c.graph.groups} - {0} for c in built[1:]]
    assert used[:2] == [{1}, {2}]
    assert 2 * found.grounds.busiest_ns == pytest.approx(found.grounds.own_busiest_ns, rel=0.2)


@dataclass
class Answering(FakeModel):
    """Its answer, of which there are as many as kinds of kernels."""

    answer: float = 1.0
    graph: Any = field(default_factory=lambda: SimpleNamespace(summary=SimpleNamespace(inputs=())))

    def run(self, inputs: Any) -> dict[str, np.ndarray]:
        return {"y": np.array([self.answer])}


@pytest.mark.parametrize("last_answer", [1.0, np.nextafter(1.0, 2.0)])
@pytest.mark.parametrize("home", [1, 2])
def test_where_bits_must_stay_only_copies_of_the_plan_are_tried(
    home: int, last_answer: float
) -> None:
    costs = chain_on(3)
    first = whole_on_a_gpu(costs)
    own = replace(
        first,
        graph=GroupGraph(costs.problem, [replace(g, device=home) for g in first.graph.groups]),
    )
    clock, built = Clock(), list[Candidate]()

    def build(candidate: Candidate) -> Any:
        built.append(candidate)
        takes_ns = judge(costs, candidate).busiest_ns // (1 if candidate is own else 3)
        answer = last_answer if {g.device for g in candidate.graph.groups} == {3} else 1.0
        return FakeContender(Answering(clock, takes_ns, candidate.name, answer=answer))

    search: Any = ThroughputSearch(costs, build, {}, 2_000 * MS, clock, same_bits=True)
    found = search.best(Entrant(own, build(own)), [own, *balanced(costs)])
    assert [[g.tasks for g in c.graph.groups] for c in built] == [
        [g.tasks for g in own.graph.groups]
    ] * len(built)
    if last_answer != 1.0:
        assert found is None
        return
    places = [{row[home]} for row in found.replicas]
    assert places == [{device} for device in (1, 2, 3) if device != home]
    assert {g.device for g in built[1].graph.groups} == {home}
