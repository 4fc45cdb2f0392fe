"""Servers follow the plans of an autoscaler, query by query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, Fleet, NodeKind
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import RecentPeak
from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.simulation.node_deployments import node_deployments
from surplus.cluster.simulation.node_server import ServerSetup
from surplus.cluster.simulation.outage import Outage
from surplus.cluster.simulation.plan_follower import FollowerParams, PlanFollower
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import check_run
from surplus.colocation.arrivals.steps import Steps
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.truths.truth import ProfileTruth
from tests.cluster.settings import GB, MS, S, model

KIND = NodeKind("gpu", 1, 16 * GB, start_ns=0, fixed_load_ns=100 * MS, load_bytes_per_s=1e11)
MODELS = (model("a", item_ms=4), model("b", item_ms=4))
STEP_S = 2.0


def load(rates_per_s: Sequence[float]) -> Load:
    """Of each model; steps of two seconds."""
    generator = np.random.default_rng(1)
    duration_ns = round(len(rates_per_s) * STEP_S * S)
    streams = []
    for _ in MODELS:
        times_ns = Steps(rates_per_s, STEP_S).times_ns(duration_ns, generator)
        ones = np.ones(len(times_ns), np.int64)
        streams.append(Stream(times_ns, ones, 0 * ones))
    return merge(streams, [m.service.slo_ns for m in MODELS], duration_ns)


def served(
    rates_per_s: Sequence[float], outages: Sequence[Outage] = (), notice_ns: int = S
) -> tuple[Load, PlanFollower, RoutedCluster]:
    fleet = Fleet.of([(KIND, 8)])
    queries = load(rates_per_s)
    scaler = Following(CLUSTER_PLANNERS.make("surplus"), MODELS, fleet, RecentPeak(1))
    first = np.full(len(MODELS), rates_per_s[0])
    params = FollowerParams(S // 2, queries.duration_ns, notice_ns)
    follower = PlanFollower(MODELS, fleet, scaler, first, params)
    services = tuple(m.service for m in MODELS)
    profiles = tuple(m.profiles["gpu"] for m in MODELS)
    predictor = PREDICTORS.make("serial", services, profiles)
    context = Context(services, (ServingDevice("gpu"),), predictor)
    truth = ProfileTruth(services, profiles, NOISES.make("none"), 0)
    setup = ServerSetup(services, lambda: DISPATCHERS.make("duty_cycle", context), truth)
    deployments = follower.deployments
    cluster = RoutedCluster(queries, setup, deployments, LiveBalancer(), outages, follower)
    cluster.run()
    for life in cluster.lives:
        check_run(life.load(), services, life.deployment, life.record)
    return queries, follower, cluster


def test_a_plan_is_a_deployment_on_each_node_in_use() -> None:
    _, follower, _ = served([200])
    plan = follower.plans[0][1]
    found = node_deployments(plan, MODELS)
    assert found.keys() == plan.nodes
    assert sum(len(d.assignments) for d in found.values()) == len(plan.replicas)
    rates = [a.rate_per_s for d in found.values() for a in d.assignments if a.service == 1]
    assert sum(rates) == pytest.approx(200)


def test_nodes_follow_the_rates() -> None:
    queries, follower, cluster = served([100, 600, 100])
    counts = {now_ns: len(plan.nodes) for now_ns, plan in follower.plans}
    assert max(counts.values()) > counts[0]
    assert list(counts.values())[-1] < max(counts.values())
    # As soon as it has followed, all is in time.
    settled = (queries.arrival_ns > 3 * S) & (queries.arrival_ns < 3.9 * S)
    good = np.array(cluster.router.outcome) == Outcome.IN_TIME
    assert good[settled].mean() > 0.98


def test_a_lost_nodes_models_are_loaded_elsewhere_when_it_is_noticed() -> None:
    quiet, _, calm = served([400, 400, 400])
    (_, plan), *_ = served([400])[1].plans
    outage = Outage(min(plan.nodes), S, 6 * S, silent=True)
    queries, follower, cluster = served([400, 400, 400], [outage])
    noticed = [plan for now_ns, plan in follower.plans if now_ns >= 2 * S]
    assert outage.node not in noticed[0].nodes
    good = np.array(cluster.router.outcome) == Outcome.IN_TIME
    after = queries.arrival_ns > 3 * S
    before = np.array(calm.router.outcome) == Outcome.IN_TIME
    assert good[after].mean() > before[quiet.arrival_ns > 3 * S].mean() - 0.01
    assert not good.all()


def test_a_node_that_is_back_before_it_is_missed_changes_no_plan() -> None:
    (_, plan), *_ = served([400])[1].plans
    outage = Outage(min(plan.nodes), S, S + S // 2)
    _, follower, cluster = served([400, 400], [outage], notice_ns=S)
    assert all(outage.node in plan.nodes for _, plan in follower.plans)
    assert len(cluster.lives) == 9


@pytest.mark.parametrize("wrong", [(0, S, S), (S, S, -1)])
def test_impossible_periods_are_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="period_ns must be > 0 and notice_ns >= 0"):
        FollowerParams(*wrong)
