"""Queries of a cluster whose servers fail: each ends once, and few are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.simulation.node_server import NodeServer, ServerSetup
from surplus.cluster.simulation.outage import Outage
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import check_run
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Partition, Service, ServingDevice
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.truths.truth import ProfileTruth
from tests.cluster.settings import MS, S

SERVICES = (Service("a", 100 * MS, 8), Service("b", 60 * MS, 8))
PROFILES = (Affine(2 * MS, 4 * MS), Affine(1 * MS, 3 * MS))
BOTH = Deployment((Partition(0),), (Assignment(0, 0, 8), Assignment(1, 0, 8)))
NOBODY = Deployment((), ())


def setup() -> ServerSetup:
    predictor = PREDICTORS.make("serial", SERVICES, PROFILES)
    context = Context(SERVICES, (ServingDevice("gpu"),), predictor)
    truth = ProfileTruth(SERVICES, PROFILES, NOISES.make("none"), 0)
    return ServerSetup(SERVICES, lambda: DISPATCHERS.make("edf", context, drop=True), truth)


def load(
    rate_per_s: float, seconds: float, seed: int = 1, services: Sequence[Service] = SERVICES
) -> Load:
    """The rate is of all services together."""
    generator = np.random.default_rng(seed)
    duration_ns = round(seconds * S)
    streams = []
    for _ in services:
        times_ns = Poisson(rate_per_s / len(services)).times_ns(duration_ns, generator)
        ones = np.ones(len(times_ns), np.int64)
        streams.append(Stream(times_ns, ones, 0 * ones))
    return merge(streams, [service.slo_ns for service in services], duration_ns)


def served(
    queries: Load, deployments: Sequence[Deployment], outages: Sequence[Outage] = ()
) -> RoutedCluster:
    """Served, and judged: every query has ended, and every server's run is a valid one."""
    cluster = RoutedCluster(queries, setup(), deployments, LiveBalancer(), outages)
    router = cluster.run()
    assert min(router.outcome, default=1) > 0
    assert max(router.tries, default=0) <= 2
    for life in cluster.lives:
        check_run(life.load(), SERVICES, life.deployment, life.record)
    return cluster


def outcomes(cluster: RoutedCluster) -> Counter[int]:
    return Counter(cluster.router.outcome)


def test_all_servers_share_the_queries() -> None:
    queries = load(400, 3)
    cluster = served(queries, [BOTH] * 4)
    assert outcomes(cluster) == {Outcome.IN_TIME: len(queries)}
    counts = [len(life.load()) for life in cluster.lives]
    assert sum(counts) == len(queries)
    assert max(counts) < 1.5 * min(counts)


def test_servers_report_what_a_new_query_would_wait() -> None:
    server = NodeServer(replace(setup(), work_ns=lambda query: 5 * MS), BOTH)
    queries = list(load(400, 1).queries())[:3]
    for query in queries:
        server.admit(query, 0)
    assert server.wait_ns == 15 * MS
    server.advance(7 * MS)
    assert len(server.left()) == 1
    assert server.wait_ns == 10 * MS
    server.take_over(
        Deployment((Partition(0, 50),) * 2, (Assignment(0, 0, 8), Assignment(1, 1, 8))), 7 * MS
    )
    assert server.wait_ns == 5 * MS
    assert NodeServer(setup(), BOTH).wait_ns is None


def test_reports_help_near_what_the_servers_hold() -> None:
    """A query that starts a batch waits as long as one that fills it, which answers do not tell."""
    service, profile = Service("c", 22 * MS, 12), Affine(3 * MS, MS // 2)
    predictor = PREDICTORS.make("serial", (service,), (profile,))
    context = Context((service,), (ServingDevice("gpu"),), predictor)
    truth = ProfileTruth((service,), (profile,), NOISES.make("none"), 0)
    queries = load(10_400, 1, services=(service,))
    alone = Deployment((Partition(0),), (Assignment(0, 0, 12),))
    in_time = []
    for work_ns in (None, lambda query: MS // 2):
        servers = ServerSetup(
            (service,), lambda: DISPATCHERS.make("duty_cycle", context), truth, None, work_ns
        )
        router = RoutedCluster(queries, servers, [alone] * 8, LiveBalancer()).run()
        in_time.append(router.outcome.count(Outcome.IN_TIME))
    assert in_time[1] > in_time[0]


def test_models_are_sent_to_those_that_have_them() -> None:
    only = [Deployment((Partition(0),), (Assignment(k, 0, 8),)) for k in range(2)]
    cluster = served(load(100, 2), only)
    assert [set(life.load().service.tolist()) for life in cluster.lives] == [{0}, {1}]


def test_without_a_replica_all_are_rejected() -> None:
    queries = load(50, 1)
    assert outcomes(served(queries, [NOBODY])) == {Outcome.REJECTED: len(queries)}


def test_what_runs_on_a_killed_server_is_answered_by_another() -> None:
    queries = load(400, 4)
    cluster = served(queries, [BOTH] * 4, [Outage(1, 1 * S, 2 * S)])
    assert outcomes(cluster) == {Outcome.IN_TIME: len(queries)}
    assert Counter(cluster.router.tries)[2] >= 1
    assert len(cluster.lives) == 5
    assert len(cluster.lives[-1].load())


def test_of_a_lost_node_only_what_it_had_is_lost_until_it_is_ejected() -> None:
    queries = load(400, 6)
    cluster = served(queries, [BOTH] * 4, [Outage(1, 1 * S, 4 * S, silent=True)])
    lost = [k for k, outcome in enumerate(cluster.router.outcome) if outcome != Outcome.IN_TIME]
    assert 1 <= len(lost) < 0.02 * len(queries)
    assert {cluster.router.outcome[k] for k in lost} == {Outcome.FAILED}
    # Clients wait for nobody longer than until it is due.
    ends_ns = np.array(cluster.router.ended_ns)[lost]
    assert np.array_equal(ends_ns, queries.deadline_ns[lost])
    assert len(cluster.lives[-1].load())


def test_if_all_servers_are_away_queries_fail_and_later_ones_do_not() -> None:
    queries = load(100, 4)
    cluster = served(queries, [BOTH] * 2, [Outage(k, 1 * S, 2 * S) for k in range(2)])
    early = queries.arrival_ns < 0.9 * S
    late = queries.arrival_ns > 3.2 * S
    good = np.array(cluster.router.outcome) == Outcome.IN_TIME
    assert good[early].all()
    assert good[late].all()
    assert not good.all()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_fails_each_query_ends_once(seed: int) -> None:
    """Above what the servers hold, so that they refuse, too."""
    generator = np.random.default_rng(seed)
    outages = []
    for node in range(4):
        begin_ns = int(generator.integers(0, 2 * S))
        end_ns = begin_ns + int(generator.integers(1, S))
        outages.append(Outage(node, begin_ns, end_ns, silent=bool(generator.random() < 0.5)))
    cluster = served(load(900, 3, seed), [BOTH] * 4, outages)
    assert outcomes(cluster)[Outcome.IN_TIME] > 0
    assert outcomes(cluster)[Outcome.DROPPED] > 0


def test_a_run_can_be_repeated() -> None:
    outages = [Outage(1, 1 * S, 2 * S, silent=True)]
    one, other = (served(load(700, 3), [BOTH] * 3, outages).router for _ in range(2))
    assert one.outcome == other.outcome
    assert one.ended_ns == other.ended_ns


def test_a_deployment_is_taken_over_while_it_serves() -> None:
    queries = load(100, 4)
    cluster = RoutedCluster(queries, setup(), [BOTH, NOBODY], LiveBalancer())
    cluster.at(2 * S, lambda now_ns: cluster.take_over({0: NOBODY, 1: BOTH}))
    router = cluster.run()
    first, second = (life.load() for life in cluster.lives)
    assert first.arrival_ns.max() < 2 * S <= second.arrival_ns.min()
    # What waited for the first is turned away there, and sent to the second.
    assert Counter(router.outcome) == {Outcome.IN_TIME: len(queries)}
    for life in cluster.lives:
        check_run(life.load(), SERVICES, life.deployment, life.record)


@pytest.mark.parametrize(
    ("outages", "message"),
    [
        ([Outage(4, 0, S)], "there is no node 4; there are 2"),
        ([Outage(0, 0, 2 * S), Outage(0, S, 3 * S)], "node 0: two outages at 1000000000 ns"),
    ],
)
def test_impossible_outages_are_refused(outages: Sequence[Outage], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RoutedCluster(load(10, 1), setup(), [BOTH] * 2, LiveBalancer(), outages)


def test_an_outage_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="node 3: an outage must begin at 0 or later"):
        Outage(3, S, S)
