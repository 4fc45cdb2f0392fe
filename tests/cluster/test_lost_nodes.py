"""Planners and autoscalers when nodes are lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, ClusterDemand, ClusterPlan, check_plan
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import RecentPeak
from tests.cluster.settings import mixed_demand, served_per_s

PLANNERS = CLUSTER_PLANNERS.names()


def plan_of(name: str, wanted: ClusterDemand) -> ClusterPlan:
    plan = CLUSTER_PLANNERS.make(name).plan(wanted)
    check_plan(plan, wanted.models, wanted.fleet)
    return plan


@pytest.mark.parametrize("name", PLANNERS)
def test_what_a_lost_node_had_finds_places_on_others(name: str) -> None:
    wanted = mixed_demand(16, 2000.0, 40)
    before = plan_of(name, wanted)
    lost = frozenset(sorted(before.nodes)[:2])
    after = plan_of(name, replace(wanted, previous=before, lost=lost))
    assert not after.nodes & lost
    assert not after.shortfalls
    assert np.all(np.array(served_per_s(after, 16)) >= np.array(wanted.rates_per_s) * (1 - 1e-6))


def test_who_was_not_on_it_stays() -> None:
    wanted = mixed_demand(16, 2000.0, 40)
    before = plan_of("surplus", wanted)
    node = min(before.nodes)
    had = {place for place in before.places if place.node == node}
    after = plan_of("surplus", replace(wanted, previous=before, lost=frozenset({node})))
    assert before.places - had <= after.places


def test_without_other_nodes_there_is_a_shortfall() -> None:
    wanted = mixed_demand(16, 2000.0, 40)
    plan = plan_of("surplus", replace(wanted, lost=frozenset(range(40))))
    assert not plan.replicas
    assert len(plan.shortfalls) == 16


def test_a_stranger_cannot_be_lost() -> None:
    with pytest.raises(ValueError, match="lost node 40 is none of the fleet's; there are 40"):
        replace(mixed_demand(4, 100.0, 40), lost=frozenset({40}))


def test_an_autoscaler_plans_at_once_without_who_is_lost_and_with_who_is_back() -> None:
    wanted = mixed_demand(8, 1000.0, 20)
    planner = CLUSTER_PLANNERS.make("surplus")
    scaler = Following(planner, wanted.models, wanted.fleet, RecentPeak())
    rates, nobody = np.array(wanted.rates_per_s), np.zeros(8, np.bool_)
    first = scaler.step(rates, nobody, 60.0)
    assert scaler.step(rates, nobody, 60.0) is first
    scaler.lost = frozenset({min(first.nodes)})
    second = scaler.step(rates, nobody, 60.0)
    assert not second.nodes & scaler.lost
    scaler.lost = frozenset()
    assert scaler.step(rates, nobody, 60.0) is not second
