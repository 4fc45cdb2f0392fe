"""Days of small clusters: what is served, what it costs, against references and the bound."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, ClusterPlan, Fleet, NodeKind
from surplus.cluster.bounds.least_nodes import least_cost, least_prices
from surplus.cluster.control.autoscaler import Autoscaler, Fixed, Following
from surplus.cluster.control.rate_estimate import MovingMean, RateEstimate, RecentPeak
from surplus.cluster.control.sleep import Sleep
from surplus.cluster.simulation.cluster_day import DayResult, simulate_day
from surplus.cluster.simulation.day_traffic import DayTrafficParams, day_counts, day_rates
from surplus.cluster.simulation.made_up_models import made_up_models
from tests.cluster.settings import GB, GPU, S, demand, model

MINUTES = 20
FLEET = Fleet.of([(GPU, 24)])
MODELS = made_up_models(16, FLEET.kinds, np.random.default_rng(2))
RATES = day_rates(16, np.random.default_rng(3), minutes=MINUTES) * 40
COUNTS = day_counts(RATES, np.random.default_rng(4))


def day(planner: str, estimate: RateEstimate, **options: float) -> DayResult:
    scaler = Following(
        CLUSTER_PLANNERS.make(planner, **options),
        MODELS,
        FLEET,
        estimate,
        Sleep(MODELS, FLEET.kinds, 10),
    )
    return simulate_day(COUNTS, MODELS, FLEET, scaler, RATES[0], check=True)


@pytest.mark.parametrize("planner", CLUSTER_PLANNERS.names())
def test_a_day_is_served_within_the_bound(planner: str) -> None:
    result = day(planner, MovingMean(np.zeros(16)))
    assert result.share_in_time > 0.9
    assert np.all(result.in_time <= result.queries * (1 + 1e-9))
    prices = least_prices(MODELS, FLEET.kinds)
    assert result.cost >= least_cost(COUNTS, prices, result.share_in_time)
    assert result.node_hours == pytest.approx(result.nodes.sum() / 60)


def test_sharing_takes_fewer_node_hours_than_replicas_of_each_model() -> None:
    ours = day("surplus", MovingMean(np.zeros(16)))
    theirs = day("per_model", RecentPeak())
    assert ours.share_in_time >= 0.99
    assert ours.node_hours <= 0.6 * theirs.node_hours


def one_model(
    first_answer_s: float, counts: list[int], scaler: Autoscaler | None = None
) -> DayResult:
    made = demand([model(first_answer_s=first_answer_s)], [0.0])
    chosen = scaler or Following(
        CLUSTER_PLANNERS.make("surplus"),
        made.models,
        made.fleet,
        MovingMean(np.zeros(1)),
        Sleep(made.models, made.fleet.kinds, 2),
    )
    return simulate_day(np.array(counts)[:, None], made.models, made.fleet, chosen, np.zeros(1))


def test_a_model_that_wakes_answers_when_it_is_loaded() -> None:
    result = one_model(70.0, [0, 0, 60, 60, 0, 0, 0, 0])
    assert result.first_answers == 1
    assert 60 * S < result.latest_answer_ns < 70 * S
    assert result.nodes.tolist() == [0, 0, 1, 1, 1, 1, 0, 0]
    # a node starts for a minute; then all is in time
    assert result.in_time[2].sum() == 0
    assert 50 < result.in_time[3].sum() < 60


def test_a_node_is_kept_up_for_who_cannot_wait_for_one() -> None:
    result = one_model(10.0, [0, 0, 60, 60, 0, 0, 0, 0])
    assert result.first_answers == 1
    assert result.latest_answer_ns < 10 * S
    assert result.nodes.tolist() == [1] * 8


def test_a_model_that_may_not_sleep_is_always_in_time() -> None:
    result = one_model(1.0, [0, 0, 60, 60, 0, 0, 0, 0])
    assert result.first_answers == 0
    assert result.nodes.tolist() == [1] * 8
    assert result.share_in_time > 0.99


def test_static_provisioning_keeps_its_nodes() -> None:
    plan = CLUSTER_PLANNERS.make("surplus").plan(demand([model()], [100.0]))
    result = one_model(1.0, [60, 3000, 60], Fixed(plan))
    assert result.nodes.tolist() == [len(plan.nodes)] * 3
    assert result.share_in_time > 0.99


def test_without_a_replica_nothing_is_in_time() -> None:
    assert one_model(1.0, [60, 60], Fixed(ClusterPlan())).share_in_time == 0


def test_a_bad_plan_is_found_out() -> None:
    plan = CLUSTER_PLANNERS.make("surplus").plan(demand([model()], [100.0]))
    crowded = ClusterPlan(tuple(s._replace(node=9) for s in plan.strips), plan.replicas)
    made = demand([model()], [1.0])
    with pytest.raises(ValueError, match="there is no node 9; there are 8"):
        simulate_day(
            np.ones((2, 1), np.int64),
            made.models,
            made.fleet,
            Fixed(crowded),
            np.zeros(1),
            check=True,
        )


def test_a_day_has_the_skew_of_the_trace() -> None:
    """81 % of applications at most once a minute, and 99.6 % of the invocations by the rest."""
    params = DayTrafficParams(jitter=0.0)
    rates = day_rates(4000, np.random.default_rng(5), params, minutes=60).mean(axis=0)
    rare = np.sort(rates)[: int(0.81 * len(rates))]
    assert rare.sum() / rates.sum() < 0.02
    assert rates.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"timers": 0.7, "bursty": 0.4}, {"swing": 1.5}, {"jitter": -1}])
def test_impossible_days_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DayTrafficParams(**wrong)


def test_the_bound_is_what_the_best_batch_holds() -> None:
    """A batch of 16 takes 18 ms of the whole device, hence 1.125 ms a query."""
    kinds = (NodeKind("gpu", 2, 16 * GB, price_per_hour=3.0),)
    hour = np.array([[3_200_000.0]])
    prices = least_prices([model()], kinds)
    assert least_cost(hour, prices, 1.0) == pytest.approx(3200 / 3600 * 1.125 * 3 / 2)
    assert least_cost(hour, prices, 0.5) == pytest.approx(1600 / 3600 * 1.125 * 3 / 2)


def test_the_bound_leaves_the_dearest_queries_out() -> None:
    prices = least_prices([model("cheap"), model("dear", item_ms=3)], (GPU,))
    queries = np.array([[900.0, 100.0]])
    kept = least_cost(queries, prices, 0.9)
    assert kept == pytest.approx(least_cost(np.array([[900.0]]), prices[:1], 1.0))
