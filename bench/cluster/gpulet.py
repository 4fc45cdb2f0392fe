"""Eight servers that follow two waves of load: gpulet and its tracking of rates, and others.

References
----------
gpulet (ATC'22), section 5.2 and Fig. 15: scen3 on eight servers of one GPU, 3,200 s, two waves of
which the second is the higher one; rates are averaged over 20 s (40 samples of half a second), a
plan is made every 20 s where one has changed by 10 %, and less than 1 % of the queries are late.
Here all its times are divided by ``--speed``, those of loading too; rates are ours, as none are
published; queries are sent to servers by our balancer. ``gpulet_scaling`` has one server of eight.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.cluster.routed import figures, run_and_judge, servers_of
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus.cluster import CLUSTER_PLANNERS, ClusterModel, Fleet, NodeKind
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import (
    MovingMean,
    MovingMeanParams,
    RateEstimate,
    RecentPeak,
)
from surplus.cluster.frame.cluster_planner import ClusterPlanner
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.simulation.plan_follower import FollowerParams, PlanFollower
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import Scenario, policy_spec, read_scenario
from surplus.colocation.arrivals.steps import Steps
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import ServingDevice

SCEN3 = Path(__file__).parents[1] / "configs/colocation/gpulet/scen3.toml"
SERVERS = 8
SECONDS = 3200
PERIOD_S = 20
STEP_S = 20
LEAST_PER_S, FIRST_PER_S, SECOND_PER_S = 200.0, 700.0, 1100.0
"""Of each model: between the waves, and at their peaks."""

LOADING_S = 10.0
"""A partition takes 10 to 15 s to prepare (section 4.6)."""

PAPER = "below 1 % late, 8 GPUs at most"


@dataclass(frozen=True)
class Way:
    """Who plans, and what for."""

    planner: Callable[[], ClusterPlanner]
    estimate: Callable[[int], RateEstimate]


def tracked(models: int) -> RateEstimate:
    """The average of gpulet: a window of 40 samples weighs ``1 - (1 - 2 / 41) ** 40``."""
    weight = 1 - (1 - 2 / 41) ** 40
    params = MovingMeanParams(weight, weight, headroom=0.0, deviations=0.0, band=0.1)
    return MovingMean(np.full(models, LEAST_PER_S), params)


def _gpulet(**options: object) -> Callable[[], ClusterPlanner]:
    return lambda: CLUSTER_PLANNERS.make("gpulet", percentile=0.99, **options)


def _own(headroom: float) -> Callable[[int], RateEstimate]:
    params = MovingMeanParams(headroom=headroom)
    return lambda models: MovingMean(np.full(models, LEAST_PER_S), params)


WAYS = {
    "gpulet": Way(_gpulet(), tracked),
    "gpulet+int": Way(_gpulet(interference=True), tracked),
    "surplus": Way(lambda: CLUSTER_PLANNERS.make("surplus"), _own(0.05)),
    "surplus, headroom 0.2": Way(lambda: CLUSTER_PLANNERS.make("surplus"), _own(0.2)),
    "per model": Way(lambda: CLUSTER_PLANNERS.make("per_model"), lambda _: RecentPeak(15)),
}
"""The last one is what KServe does: the peak of five minutes."""


def waves() -> list[float]:
    """Rates of each model, step by step; quiet from 1,200 to 1,400 s."""
    times_s = np.arange(SECONDS / STEP_S) * STEP_S
    first = np.clip(np.sin(np.pi * times_s / 1200), 0, None) * (times_s < 1200)
    second = np.sin(np.pi * (times_s - 1400) / 1800) * (times_s >= 1400)
    rates = LEAST_PER_S + (FIRST_PER_S - LEAST_PER_S) * first
    found: list[float] = (rates + (SECOND_PER_S - LEAST_PER_S) * second.clip(0.0)).tolist()
    return found


def scenario_of(speed: float) -> Scenario:
    """scen3 under two waves."""
    base = read_scenario(SCEN3)
    arrivals = Steps(waves(), STEP_S / speed)
    return replace(
        base,
        tenants=tuple(replace(tenant, arrivals=arrivals) for tenant in base.tenants),
        devices=(ServingDevice("gpu"),),
        duration_ns=round(SECONDS / speed * NS_PER_S),
    )


def row(name: str, speed: float) -> Row:
    """One way to plan."""
    scenario, way = scenario_of(speed), WAYS[name]
    setting = scenario.setting()
    loading_ns = round(LOADING_S / speed * NS_PER_S)
    kind = NodeKind("gpu", 1, 16 << 30, start_ns=0, fixed_load_ns=loading_ns)
    fleet = Fleet.of([(kind, SERVERS)])
    models = tuple(ClusterModel(t.service, {"gpu": t.profile}) for t in scenario.tenants)
    scaler = Following(way.planner(), models, fleet, way.estimate(len(models)))
    period_ns = round(PERIOD_S / speed * NS_PER_S)
    first_per_s = np.full(len(models), LEAST_PER_S)
    params = FollowerParams(period_ns, setting.load.duration_ns)
    follower = PlanFollower(models, fleet, scaler, first_per_s, params)
    policy = policy_spec("gpulet")
    servers = servers_of(setting.demand, policy, setting.truth, setting.interference)
    cluster = RoutedCluster(
        setting.load, servers, follower.deployments, LiveBalancer(), overseer=follower
    )
    run_and_judge(cluster, scenario.services)
    used = _used(follower, period_ns, setting.load.duration_ns)
    late = _late(setting.load, cluster, period_ns)
    return {
        "planner": name,
        **figures(setting.load, cluster),
        "late %, worst period": 100 * float(late.max()),
        "periods above 1 % late": int((late > 0.01).sum()),
        "GPUs, mean": float(np.mean(used)),
        "GPUs, least": min(used),
        "GPUs, most": max(used),
        "plans": len(follower.plans),
        "paper": PAPER if name == "gpulet+int" else "",
    }


def _used(follower: PlanFollower, period_ns: int, duration_ns: int) -> list[int]:
    """Servers in use by plan, period by period."""
    return [
        len([plan for since_ns, plan in follower.plans if since_ns <= when_ns][-1].nodes)
        for when_ns in range(0, duration_ns, period_ns)
    ]


def _late(load: Load, cluster: RoutedCluster, period_ns: int) -> Floats:
    """Part of the queries of each period that was not answered in time."""
    period = load.arrival_ns // period_ns
    bad = np.frombuffer(cluster.router.outcome, np.int8) != Outcome.IN_TIME
    late: Floats = np.bincount(period, bad) / np.maximum(np.bincount(period), 1)
    return late


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=10.0, help="of time (%(default)s)")
    parser.add_argument("--planners", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--dry", action="store_true", help="store nothing")
    args = parser.parse_args()

    def measure(key: Key) -> Row:
        return row(key[0], args.speed)

    keys = [(name,) for name in args.planners]
    if args.dry:
        rows = [measure(key) for key in keys]
    else:
        config = {"speed": args.speed, "per_s": [LEAST_PER_S, FIRST_PER_S, SECOND_PER_S]}
        rows = fill(Table("cluster_gpulet", config, ("planner",)), keys, measure)
    result_file.show("Eight servers, two waves", rows)


if __name__ == "__main__":
    main()
