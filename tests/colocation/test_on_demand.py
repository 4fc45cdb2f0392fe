"""Partitions that hold their share only while they run."""

from __future__ import annotations

import pytest

from surplus.colocation import PolicyError, PolicySpec, simulate
from surplus.colocation.frame.decision import NOTHING, Decision, Start
from surplus.colocation.frame.deployment import Assignment, Deployment, check_deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.service import Partition, ServingDevice
from surplus.colocation.frame.stage import Stage
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import piece_of
from surplus.colocation.results.validate import check_run
from tests.colocation.settings import load_of, service, setting_of

SERVICES = (service("a"), service("b"), service("c"))
SHARES = (60, 40, 50)


def deployment(on_demand: bool) -> Deployment:
    places = range(len(SHARES))
    return Deployment(
        tuple(Partition(0, share) for share in SHARES),
        tuple(Assignment(k, k, 1) for k in places),
        on_demand=on_demand,
    )


@PLANNERS.register("on_demand_for_a_test")
class OnDemand:
    def plan(self, demand: Demand) -> Deployment:
        return deployment(True)


@DISPATCHERS.register("greedy_for_a_test")
class Greedy:
    """Starts whatever waits, with or without a look at what is free."""

    def __init__(self, context: Context, careful: bool) -> None:
        self._careful = careful

    def decide(self, state: State, event: Event) -> Decision:
        used = sum(SHARES[k] for k, group in enumerate(state.running) if group)
        for place, waiting in enumerate(state.waiting):
            fits = used + SHARES[place] <= 100 or not self._careful
            if waiting and state.running[place] is None and fits:
                return Decision(starts=(Start(place, (piece_of((waiting.urgent,), 0, 1),)),))
        return NOTHING


def test_shares_may_add_up_to_more_than_a_device_only_on_demand() -> None:
    check_deployment(deployment(True), SERVICES, (ServingDevice("d"),))
    with pytest.raises(ValueError, match="gives away 150 %"):
        check_deployment(deployment(False), SERVICES, (ServingDevice("d"),))


def test_what_runs_may_not() -> None:
    setting = setting_of(SERVICES, load_of(SERVICES, [[0], [0], [0]]), [8, 4, 2])
    policy = PolicySpec("g", "greedy_for_a_test", {"careful": False}, "on_demand_for_a_test")
    with pytest.raises(PolicyError, match="device 0 would give away 150 %"):
        simulate(setting, policy)


def test_a_careful_dispatcher_runs_what_fits_side_by_side() -> None:
    setting = setting_of(SERVICES, load_of(SERVICES, [[0], [0], [0]]), [8, 4, 2])
    policy = PolicySpec("g", "greedy_for_a_test", {"careful": True}, "on_demand_for_a_test")
    run = simulate(setting, policy)
    check_run(setting.load, SERVICES, run.deployment, run.record)
    assert [end // 1_000_000 for end in run.record.ended_ns] == [13, 10, 17]


def test_a_stage_opens_all_of_them_at_once() -> None:
    stage = Stage(Deployment((), ()))
    stage.take_over(stage.placed(deployment(True)))
    assert stage.view.on_demand
    assert stage.view.places == {(0, 0), (1, 1), (2, 2)}
    guarded = Stage(Deployment((), ()))
    guarded.take_over(guarded.placed(deployment(False)))
    assert guarded.view.places == {(0, 0), (1, 1)}
