"""Clusters of 16, 100 and 1,000 nodes whose servers are killed and whose nodes are lost.

``surplus`` plans, and plans anew when a loss is noticed, after 15 s as Ray has it; a server that
was killed is back before, and spare nodes are up. A query that meets a failure is sent once more
elsewhere by our balancer, not by one that sends in turn, as Kubernetes' services do. Models, rates
and failures are made up. Each query has to end once, and each server's run to be a valid one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.cluster.routed import figures, run_and_judge, servers_of
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus.cluster import CLUSTER_PLANNERS, ClusterModel, ClusterPlan, Fleet, NodeKind
from surplus.cluster.bounds.least_nodes import least_prices
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import MovingMean, MovingMeanParams
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.routing.query_balancer import QueryBalancer
from surplus.cluster.routing.round_robin import RoundRobin
from surplus.cluster.simulation.node_server import ServerSetup
from surplus.cluster.simulation.outage import Outage
from surplus.cluster.simulation.plan_follower import FollowerParams, PlanFollower
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import policy_spec
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.truths.truth import ProfileTruth

SIZES = {16: 8, 100: 40, 1000: 200}
"""Nodes that are needed, about -> models."""

KIND = NodeKind("gpu", devices=1, memory_bytes=16 << 30, start_ns=0)
FULL = 0.35
"""Part of the nodes that the load needs by the bound: ``surplus`` needs about all of them."""

FAILING = 0.1
"""Of the nodes in use, once each, in the second quarter of the time."""

RESTART_NS, NOTICE_NS = NS_PER_S, 15 * NS_PER_S
BALANCERS: dict[str, Callable[[], QueryBalancer]] = {
    "balanced": LiveBalancer,
    "in turn": RoundRobin,
}
FAILURES = ("none", "killed servers", "lost nodes")


@dataclass(frozen=True)
class Case:
    """What is served on so many nodes, at which rates."""

    models: tuple[ClusterModel, ...]
    fleet: Fleet
    rates_per_s: Floats
    load: Load


def case_of(nodes: int, seconds: float, seed: int) -> Case:
    """Detectors of 5 to 20 ms an image, in rates whose logarithms have a deviation of 1."""
    generator = np.random.default_rng([seed, nodes])
    count = SIZES[nodes]
    fleet = Fleet.of([(KIND, 2 * nodes)])
    models = tuple(_model(k, generator) for k in range(count))
    shares = np.exp(generator.standard_normal(count))
    need = float((shares * least_prices(models, fleet.kinds)).sum()) * 3600
    rates_per_s = shares * (FULL * nodes / need)
    duration_ns = round(seconds * NS_PER_S)
    streams = [_stream(float(rate), duration_ns, generator) for rate in rates_per_s]
    load = merge(streams, [model.service.slo_ns for model in models], duration_ns)
    return Case(models, fleet, rates_per_s, load)


def _model(index: int, generator: np.random.Generator) -> ClusterModel:
    item_ns = round(float(generator.uniform(5, 20)) * NS_PER_MS)
    profile = Affine(round(item_ns * float(generator.uniform(0.5, 3.0))), item_ns, 50)
    slo_ns = round(float(generator.uniform(5, 10)) * profile.latency_ns(1, 0, 100))
    service = Service(f"m{index}", slo_ns, max_batch=8, memory_bytes=1 << 30)
    return ClusterModel(service, {KIND.name: profile})


def _stream(rate_per_s: float, duration_ns: int, generator: np.random.Generator) -> Stream:
    times_ns = Poisson(rate_per_s).times_ns(duration_ns, generator)
    ones = np.ones(len(times_ns), np.int64)
    return Stream(times_ns, ones, 0 * ones)


def outages_of(failures: str, used: Sequence[int], duration_ns: int, seed: int) -> list[Outage]:
    """A tenth of the nodes, one at least; killed servers are back after a second."""
    if failures == "none":
        return []
    generator = np.random.default_rng([seed, 5])
    silent = failures == "lost nodes"
    count = max(1, round(FAILING * len(used)))
    found = []
    for node in sorted(generator.choice(sorted(used), count, replace=False).tolist()):
        begin_ns = int(duration_ns * generator.uniform(0.25, 0.5))
        found.append(
            Outage(node, begin_ns, duration_ns if silent else begin_ns + RESTART_NS, silent)
        )
    return found


def row(case: Case, nodes: int, failures: str, balancer: str, seed: int) -> Row:
    """One sort of failures, met by one way to send queries."""
    models, fleet, load = case.models, case.fleet, case.load
    estimate = MovingMean(case.rates_per_s, MovingMeanParams(headroom=0.25, fall=0.01))
    scaler = Following(CLUSTER_PLANNERS.make("surplus"), models, fleet, estimate)
    params = FollowerParams(load.duration_ns, 0, NOTICE_NS)
    follower = PlanFollower(models, fleet, scaler, case.rates_per_s, params)
    plan = follower.plans[0][1]
    used = sorted(plan.nodes)
    outages = outages_of(failures, used, load.duration_ns, seed)
    cluster = RoutedCluster(
        load, _servers(case), follower.deployments, BALANCERS[balancer](), outages, follower
    )
    services = tuple(model.service for model in models)
    run_and_judge(cluster, services)
    lost = np.frombuffer(cluster.router.outcome, np.int8) == Outcome.FAILED
    alone = on_one_node(plan, len(models))
    return {
        "nodes": nodes,
        "in use": len(used),
        "failures": failures,
        "queries sent": balancer,
        "failing": len(outages),
        **figures(load, cluster),
        "models on one node": int(alone.sum()),
        "lost": int(lost.sum()),
        "lost of others": int((lost & ~alone[load.service]).sum()),
        "sent twice": int((np.frombuffer(cluster.router.tries, np.int8) > 1).sum()),
        "settled s": _settled_s(load, cluster, outages),
    }


def on_one_node(plan: ClusterPlan, models: int) -> npt.NDArray[np.bool_]:
    """Whose queries no other node can answer, by model."""
    places = {(r.model, plan.strips[r.strip].node) for r in plan.replicas}
    return np.bincount([model for model, _ in places], minlength=models) == 1


def _servers(case: Case) -> ServerSetup:
    services = tuple(model.service for model in case.models)
    profiles = tuple(model.profiles[KIND.name] for model in case.models)
    ones = (1,) * len(services)
    devices = (ServingDevice(KIND.name, KIND.memory_bytes),)
    demand = Demand(services, profiles, tuple(case.rates_per_s), ones, (0,) * len(ones), devices)
    truth = ProfileTruth(services, profiles, NOISES.make("none"), 0)
    return servers_of(demand, policy_spec("gpulet"), truth)


def _settled_s(load: Load, cluster: RoutedCluster, outages: Sequence[Outage]) -> float | None:
    """From the last failure to the last query that was lost by one; None if none was."""
    lost = np.frombuffer(cluster.router.outcome, np.int8) == Outcome.FAILED
    if not outages or not lost.any():
        return None
    last_ns = max(outage.begin_ns for outage in outages)
    return max(0.0, float(load.arrival_ns[lost].max() - last_ns) / NS_PER_S)


def main() -> int:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="store nothing")
    args = parser.parse_args()
    cases: Mapping[int, Case] = {n: case_of(n, args.seconds, args.seed) for n in args.nodes}

    def measure(key: Key) -> Row:
        nodes, failures, balancer = key
        return row(cases[int(nodes)], int(nodes), failures, balancer, args.seed)

    keys = [(str(n), failures, b) for n in args.nodes for failures in FAILURES for b in BALANCERS]
    if args.dry:
        rows = [measure(key) for key in keys]
    else:
        config = {"seconds": args.seconds, "seed": args.seed, "nodes": args.nodes}
        columns = ("nodes", "failures", "queries sent")
        rows = fill(Table("cluster_failures", config, columns), keys, measure)
    result_file.show("Failures", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
