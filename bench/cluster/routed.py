"""What the benches of routed clusters have in common: servers of a policy, figures of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.infrastructure.resumable import Row
from surplus.cluster.simulation.node_server import ServerSetup
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import PolicySpec, check_run
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Service
from surplus.colocation.truths.truth import Truth


def servers_of(
    demand: Demand, policy: PolicySpec, truth: Truth, interference: Interference | None = None
) -> ServerSetup:
    """Servers that dispatch by a policy; one predictor for all of them."""
    predictor = PREDICTORS.make(
        policy.predictor, demand.services, demand.profiles, **policy.predictor_options
    )
    context = Context(demand.services, demand.devices, predictor)
    return ServerSetup(
        demand.services,
        lambda: DISPATCHERS.make(policy.dispatcher, context, **policy.dispatcher_options),
        truth,
        interference,
        lambda query: predictor.alone_ns(query.service, query.items, query.sequence, 100),
    )


def run_and_judge(cluster: RoutedCluster, services: Sequence[Service]) -> None:
    """Serve the load; each query has ended once then, and every server has run as servers can.

    Raises
    ------
    ValueError
        If not.
    """
    router = cluster.run()
    open_ = sum(outcome == Outcome.UNFINISHED for outcome in router.outcome)
    if open_:
        raise ValueError(f"{open_} queries have not ended")
    for life in cluster.lives:
        check_run(life.load(), services, life.deployment, life.record)


def figures(load: Load, cluster: RoutedCluster) -> Row:
    """What the clients see."""
    outcome = np.frombuffer(cluster.router.outcome, np.int8)
    took_ns = np.frombuffer(cluster.router.ended_ns, np.int64) - load.arrival_ns
    answered = (outcome == Outcome.IN_TIME) | (outcome == Outcome.LATE)
    in_time = outcome == Outcome.IN_TIME
    before_end = load.arrival_ns + took_ns < load.duration_ns
    seconds = load.duration_ns / NS_PER_S
    took_ms = took_ns[answered] / 1e6
    return {
        "queries": len(load),
        "served/s": float((answered & before_end).sum() / seconds),
        "in time %": 100 * float(in_time.mean()),
        "p99 ms": float(np.percentile(took_ms, 99)) if len(took_ms) else 0.0,
        "mean ms": float(took_ms.mean()) if len(took_ms) else 0.0,
    }
