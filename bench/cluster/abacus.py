"""``python -m bench cluster_abacus --data DIR``: Abacus on sixteen GPUs against Clockwork.

References
----------
Abacus (SC'21), section 7.6 and Fig. 22: four models on each of 16 GPUs, targets of 100 ms, two
hours of the Azure Functions trace; Kubernetes sends queries to nodes, Abacus runs them there, and
serves 17.8 % more than Clockwork. Departures: A100s, not V100s; groups of more than two models are
timed by a stated assumption (``GroupTimes``); the trace is made up by its published laws, 4,000
functions dealt out to the four models, and each of its minutes passes in half a second; the load
is not published: here parts of what 16 GPUs hold if each runs one query at a time without a pause.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.abacus.runs import abacus, scenario_files
from bench.cluster.routed import figures, run_and_judge, servers_of
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.routing.query_balancer import QueryBalancer
from surplus.cluster.routing.round_robin import RoundRobin
from surplus.cluster.simulation.day_traffic import day_rates
from surplus.cluster.simulation.routed_cluster import RoutedCluster
from surplus.colocation import PolicySpec, Scenario, policy_spec, read_scenario
from surplus.colocation.arrivals.steps import Steps
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.policies.setup import set_up

GPUS = 16
TARGET_NS = 100 * NS_PER_MS
FUNCTIONS = 4000
MINUTES = 120
LOADS = ("0.7", "0.9", "1.1", "1.3")
SEED = 1
PAPER = 0.178
"""That Abacus serves more than Clockwork."""


@dataclass(frozen=True)
class Way:
    """A policy on each server, of so many GPUs, and who sends it queries."""

    policy: Callable[[], PolicySpec]
    balancer: Callable[[], QueryBalancer]
    gpus: int = 1


WAYS = {
    "clockwork": Way(lambda: policy_spec("clockwork"), RoundRobin, GPUS),
    "clockwork, balanced": Way(lambda: policy_spec("clockwork"), LiveBalancer),
    "edf_drop": Way(lambda: policy_spec("edf_drop"), RoundRobin, GPUS),
    "edf_drop, balanced": Way(lambda: policy_spec("edf_drop"), LiveBalancer),
    "abacus": Way(lambda: abacus("mlp_four"), RoundRobin),
    "abacus, balanced": Way(lambda: abacus("mlp_four"), LiveBalancer),
}
"""One controller sees all GPUs of Clockwork, as in its paper; Kubernetes serves Abacus in turn.

The text of Abacus has Clockwork serve by EDF, query by query, which is ``edf_drop`` behind one
controller: its queries are batches. Clockwork itself merges those into larger ones.
"""


def shares(minutes: int, models: int, seed: int) -> Floats:
    """By minute and model, in parts of the mean rate of all models together."""
    rates = day_rates(FUNCTIONS, np.random.default_rng([seed, 1]), minutes=minutes)
    dealt: Floats = rates.reshape(minutes, -1, models).sum(axis=1)
    return dealt / dealt.sum(axis=1).mean()


def scenario_of(base: Scenario, load: float, minutes: int, minute_s: float) -> Scenario:
    """Four models at a part of what the GPUs hold query by query."""
    parts = shares(minutes, len(base.tenants), SEED)
    took_ns = np.array(
        [
            np.mean([t.profile.latency_ns(i, s, 100) for i in t.items for s in t.sequences])
            for t in base.tenants
        ]
    )
    each_ns = float((parts.mean(axis=0) * took_ns).sum())
    rates = parts * load * GPUS * NS_PER_S / each_ns
    return replace(
        base,
        tenants=tuple(
            replace(
                tenant,
                service=replace(tenant.service, slo_ns=TARGET_NS),
                arrivals=Steps(rates[:, k].tolist(), minute_s),
            )
            for k, tenant in enumerate(base.tenants)
        ),
        duration_ns=round(minutes * minute_s * NS_PER_S),
        seed=SEED,
    )


def row(scenario: Scenario, name: str, load: str) -> Row:
    """One way at one load."""
    way = WAYS[name]
    setting = scenario.setting()
    devices = tuple(ServingDevice(f"gpu{k}") for k in range(way.gpus))
    demand = replace(setting.demand, devices=devices)
    policy = way.policy()
    deployment = set_up(demand, policy).deployment
    nodes = GPUS // way.gpus
    servers = servers_of(demand, policy, setting.truth)
    cluster = RoutedCluster(setting.load, servers, [deployment] * nodes, way.balancer())
    run_and_judge(cluster, scenario.services)
    return {"load": load, "way": name} | figures(setting.load, cluster)


def gains(rows: list[Row]) -> list[Row]:
    """Abacus over what there is one controller for, by load; less 1."""
    found = []
    for load in dict.fromkeys(row["load"] for row in rows):
        own = {row["way"]: row for row in rows if row["load"] == load}
        for base in ("clockwork", "edf_drop"):
            for name in ("abacus", "abacus, balanced"):
                found.append(
                    {
                        "load": load,
                        "way": name,
                        "over": base,
                        "served": own[name]["served/s"] / own[base]["served/s"] - 1,
                        "in time": own[name]["in time %"] / own[base]["in time %"] - 1,
                        "paper, served": PAPER if name == "abacus" else None,
                    }
                )
    return found


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench cluster_abacus", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--minutes", type=int, default=MINUTES, help="of the trace (%(default)s)")
    parser.add_argument("--minute-s", type=float, default=0.5, help="seconds that one passes in")
    parser.add_argument("--loads", nargs="+", default=list(LOADS))
    parser.add_argument("--dry", action="store_true", help="store nothing")
    args = parser.parse_args()
    (file,) = (p for p in scenario_files("abacus_many") if p.stem.count("_") == 3)
    base = read_scenario(file, args.data)

    def measure(key: Key) -> Row:
        scenario = scenario_of(base, float(key[0]), args.minutes, args.minute_s)
        return row(scenario, key[1], key[0])

    keys = [(load, name) for load in args.loads for name in WAYS]
    config = {"minutes": args.minutes, "minute_s": args.minute_s, "loads": args.loads}
    if args.dry:
        rows = [measure(key) for key in keys]
    else:
        rows = fill(Table("cluster_abacus", config, ("load", "way")), keys, measure)
    over = gains(rows)
    if not args.dry:
        result_file.write("cluster_abacus_gains", config, over)
    result_file.show("Sixteen GPUs", rows)
    result_file.show("Gains", over)


if __name__ == "__main__":
    main()
