"""What holds of every planner of a cluster; a new one is tested by being registered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, ClusterDemand, Fleet, NodeKind, check_plan
from surplus.cluster.bounds.least_nodes import least_cost, least_prices
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.queueing.strip_rows import rows_of
from tests.cluster.settings import GB, GPU, S, demand, mixed_demand, model, served_per_s

PLANNERS = CLUSTER_PLANNERS.names()
OWN = ("dstack", "per_model", "surplus")
"""Those that plan for a part in time, and change plans."""


def plan_of(name: str, wanted: ClusterDemand) -> ClusterPlan:
    plan = CLUSTER_PLANNERS.make(name).plan(wanted)
    check_plan(plan, wanted.models, wanted.fleet)
    return plan


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PLANNERS)
def test_every_rate_has_a_place(name: str, seed: int) -> None:
    wanted = mixed_demand(24, 800.0, 40, seed)
    plan = plan_of(name, wanted)
    assert not plan.shortfalls
    served = served_per_s(plan, 24)
    pairs = zip(served, wanted.rates_per_s, strict=True)
    assert all(own >= rate * (1 - 1e-6) for own, rate in pairs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", OWN)
def test_what_is_planned_for_is_in_time(name: str, seed: int) -> None:
    wanted = mixed_demand(24, 800.0, 40, seed)
    plan = plan_of(name, wanted)
    rows = rows_of(plan, wanted.models, wanted.fleet)
    assert rows.in_time(np.array(wanted.rates_per_s)).min() >= 0.99 - 1e-4


@pytest.mark.parametrize("name", PLANNERS)
def test_no_plan_is_below_the_bound(name: str) -> None:
    wanted = mixed_demand(24, 3000.0, 60)
    plan = plan_of(name, wanted)
    hour = np.array([wanted.rates_per_s]) * 3600
    prices = least_prices(wanted.models, wanted.fleet.kinds)
    assert len(plan.nodes) >= least_cost(hour, prices, 1.0)


@pytest.mark.parametrize("name", PLANNERS)
def test_what_finds_no_place_is_a_shortfall(name: str) -> None:
    plan = plan_of(name, demand([model()], [5000.0], nodes=2))
    assert len(plan.nodes) == 2
    (shortfall,) = plan.shortfalls
    assert 0 < shortfall.rate_per_s < 5000
    assert shortfall.reason


@pytest.mark.parametrize("name", PLANNERS)
def test_a_model_without_a_rate_has_no_replica(name: str) -> None:
    plan = plan_of(name, demand([model("a"), model("b")], [0.0, 3.0]))
    assert {replica.model for replica in plan.replicas} == {1}


@pytest.mark.parametrize("name", PLANNERS)
def test_memory_is_counted(name: str) -> None:
    """Ten models of 5 GB, three of which a device holds."""
    models = [model(f"m{k}", memory_gb=5) for k in range(10)]
    assert len(plan_of(name, demand(models, [0.1] * 10, nodes=12)).nodes) >= 4


@pytest.mark.parametrize("name", PLANNERS)
def test_all_devices_of_a_node_are_used(name: str) -> None:
    kind = replace(GPU, devices=4)
    plan = plan_of(name, demand([model()], [1200.0], nodes=4, kind=kind))
    assert not plan.shortfalls
    assert len(plan.nodes) == 1
    assert len({strip.device for strip in plan.strips}) > 1


@pytest.mark.parametrize("name", PLANNERS)
def test_a_model_goes_where_it_has_a_profile(name: str) -> None:
    kinds = (NodeKind("cheap", 1, 16 * GB, 0.5), NodeKind("dear", 1, 16 * GB, 2.0))
    fleet = Fleet.of([(kind, 4) for kind in kinds])
    models = (model("both", kinds=("cheap", "dear")), model("one", kinds=("dear",)))
    plan = plan_of(name, ClusterDemand(models, (50.0, 50.0), fleet))
    kinds_of = {r.model: fleet.kind(plan.strips[r.strip].node).name for r in plan.replicas}
    assert kinds_of[1] == "dear"
    assert kinds_of[0] == "cheap" or name in ("dstack", "surplus")


@pytest.mark.parametrize("name", PLANNERS)
def test_the_next_kind_takes_what_the_first_has_no_place_for(name: str) -> None:
    kinds = (NodeKind("cheap", 1, 16 * GB, 0.5), NodeKind("dear", 1, 16 * GB, 2.0))
    fleet = Fleet.of([(kinds[0], 1), (kinds[1], 12)])
    models = (model("both", kinds=("cheap", "dear")),)
    plan = plan_of(name, ClusterDemand(models, (3000.0,), fleet))
    assert not plan.shortfalls
    assert 0 in plan.nodes
    assert len(plan.nodes) > 2


@pytest.mark.parametrize("name", OWN)
def test_an_unchanged_demand_moves_nothing(name: str) -> None:
    wanted = mixed_demand(24, 800.0, 40)
    planner = CLUSTER_PLANNERS.make(name)
    plan = planner.plan(wanted)
    again = planner.plan(replace(wanted, previous=plan))
    assert again.moves_from(plan) == 0
    assert again.nodes == plan.nodes


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("factor", [0.3, 1.5, 4.0])
def test_a_changed_rate_moves_few(name: str, factor: float) -> None:
    wanted = mixed_demand(24, 800.0, 40)
    planner = CLUSTER_PLANNERS.make(name, most_moves=0)
    plan = planner.plan(wanted)
    rates = list(wanted.rates_per_s)
    rates[5] *= factor
    changed = replace(wanted, rates_per_s=tuple(rates), previous=plan)
    after = planner.plan(changed)
    check_plan(after, wanted.models, wanted.fleet)
    assert {place[0] for place in after.places - plan.places} <= {5}
    assert served_per_s(after, 24)[5] == pytest.approx(rates[5])
    assert rows_of(after, wanted.models, wanted.fleet).in_time(np.array(rates)).min() >= 0.989


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("other", PLANNERS)
def test_a_plan_of_another_planner_is_taken_over(name: str, other: str) -> None:
    wanted = mixed_demand(24, 800.0, 60)
    before = plan_of(other, wanted)
    rates = tuple(
        rate * factor for rate, factor in zip(wanted.rates_per_s, [0.5, 2.0] * 12, strict=True)
    )
    after = plan_of(name, replace(wanted, rates_per_s=rates, previous=before))
    assert not after.shortfalls
    assert served_per_s(after, 24) == pytest.approx(rates)


@pytest.mark.parametrize("name", OWN)
def test_nodes_are_given_back_when_rates_fall(name: str) -> None:
    wanted = mixed_demand(24, 3000.0, 60)
    planner = CLUSTER_PLANNERS.make(name)
    plan = planner.plan(wanted)
    fallen = tuple(rate * 0.2 for rate in wanted.rates_per_s)
    for _ in range(5):
        plan = planner.plan(replace(wanted, rates_per_s=fallen, previous=plan))
        check_plan(plan, wanted.models, wanted.fleet)
    fresh = planner.plan(replace(wanted, rates_per_s=fallen))
    assert len(plan.nodes) <= len(fresh.nodes) * 1.3 + 1


def test_light_models_share_what_turns_would_reserve() -> None:
    """Forty models of 10 ms and one query in ten seconds: cycles hold four of them."""
    models = [model(f"m{k}", 60, 9, 1, memory_gb=0.1) for k in range(40)]
    wanted = demand(models, [0.1] * 40, nodes=20)
    assert len(plan_of("surplus", wanted).nodes) == 1
    assert len(plan_of("squishy", wanted).nodes) > 5


def test_heavy_models_get_strips_at_their_knee() -> None:
    """Beyond 25 % nothing gets faster: a device holds three strips of 30 %, or four less even."""
    wanted = demand([model(knee_percent=30)], [900.0])
    assert len(plan_of("surplus", wanted).nodes) < len(plan_of("squishy", wanted).nodes)


def test_whole_devices_are_what_kubernetes_gives() -> None:
    planner = CLUSTER_PLANNERS.make("per_model", whole=True)
    plan = planner.plan(demand([model("a"), model("b")], [1.0, 1.0]))
    assert {strip.share_percent for strip in plan.strips} == {100}
    assert len(plan.nodes) == 2


@pytest.mark.parametrize("utilisation", [0.0, 1.1])
def test_an_impossible_utilisation_is_refused(utilisation: float) -> None:
    with pytest.raises(ValueError, match="utilisation must be > 0 and <= 1"):
        CLUSTER_PLANNERS.make("per_model", utilisation=utilisation)


def test_loading_takes_what_the_memory_says() -> None:
    kind = NodeKind("gpu", 1, 16 * GB, load_bytes_per_s=GB, fixed_load_ns=S)
    assert kind.load_ns(3 * GB) == 4 * S
