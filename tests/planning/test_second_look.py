"""Clusters are placed again with the times that the first plans took in place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surplus.engine.contest.contest import Contest, ContestParams
from surplus.engine.planning.candidates import by_clusters
from surplus.engine.planning.feedback import SecondLook
from surplus.engine.planning.first_plans import whole_models
from surplus.engine.planning.stages import Costs
from surplus.engine.planning.tuning import Entrant
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.policy import make_policy
from surplus.placement.problem import Device, Link
from tests.pipeline.tuning_world import PROBLEM, FakeContender, Machine

CPU, GPU = 0, 1
TIME_NS = 2_000_000_000
PLACE = make_policy("heft").place


def _two_devices() -> ServiceTimes:
    """The world's branches on one CPU lane and a GPU, said to be equally fast."""
    tasks = tuple(
        replace(t, service_ns=(t.service_ns[0], t.service_ns[0]), default_device=GPU)
        for t in PROBLEM.tasks
    )
    links = (Link("host", "gpu", 1_000), Link("gpu", "host", 1_000))
    devices = (Device("cpu"), Device("gpu", 1, "gpu"))
    problem = replace(PROBLEM, devices=devices, links=links, tasks=tasks)
    return replace(ServiceTimes.of(problem), problem=problem)


def _slower_cpu(guess: ServiceTimes, factor: int) -> ServiceTimes:
    row = [None if ns is None else factor * ns for ns in guess.task_ns[CPU, 1]]
    return replace(guess, task_ns={**guess.task_ns, (CPU, 1): row})


def _looked(factor: int) -> tuple[list[Entrant[FakeContender]], Entrant[FakeContender]]:
    """Who ran first, and who is best in the end, where CPU segments take so many times as long."""
    guess = _two_devices()
    assert guess.problem is not None
    costs = Costs(guess.problem, guess)
    machine = Machine(_slower_cpu(guess, factor))
    first = [*whole_models(costs)[-1:], *by_clusters(costs, PLACE)]
    entrants = [Entrant(c, r) for c in first if (r := machine.build(c)) is not None]
    runners = [entrant.contender for entrant in entrants]
    contest = Contest(runners, 1, ContestParams(), machine.clock)
    contest.play(TIME_NS)
    look = SecondLook(costs, PLACE, frozenset({GPU}), TIME_NS, machine.clock)
    best, turns = look.best(entrants, contest, machine.build)
    assert turns
    assert all(turn.wall_ns == best.contender.true_ns() for turn in turns)
    return entrants, best


@pytest.mark.parametrize("factor", [3, 5])
def test_a_cpu_that_is_slower_in_place_gets_less_to_do(factor: int) -> None:
    first, best = _looked(factor)
    assert best.contender.true_ns() < 0.95 * min(e.contender.true_ns() for e in first)
    assert {group.device for group in best.candidate.graph.groups} == {CPU, GPU}


def test_what_is_as_predicted_stays_the_best() -> None:
    first, best = _looked(1)
    assert best.contender.true_ns() <= min(e.contender.true_ns() for e in first)
