"""A million queries under every policy, while devices fail and services leave: none is lost.

Every run passes the validator, so that each query is exactly one of in time, late, dropped,
rejected and failed, and none is unfinished.
"""

from __future__ import annotations

import argparse
import time

from bench import result_file
from bench.resumable import Row, Table, fill
from colocation import Scenario, check_run, policy_names, policy_spec, simulate, summarise
from colocation.arrivals.steady import Poisson
from colocation.change import Change, ChangeKind
from colocation.clock import NS_PER_MS, NS_PER_S
from colocation.noise import NOISES
from colocation.profiles.bandwidth import Bandwidth
from colocation.reorganiser import ReorganisationParams
from colocation.scenario import Tenant
from colocation.service import Device, Service

RATES_PER_S = (900.0, 400.0, 150.0, 50.0)
PERIOD_S = 4
REORGANISE = ReorganisationParams(NS_PER_S, NS_PER_S // 2, windows=4)


def scenario_of(queries: int) -> Scenario:
    """Four services on three devices; one after the other goes for a second."""
    tenants = tuple(
        Tenant(
            Service(f"s{k}", (40 + 30 * k) * NS_PER_MS, max_batch=16),
            Bandwidth(NS_PER_MS, 100_000 * (k + 1), 200_000 * (k + 1), deviation=0.1),
            Poisson(rate),
        )
        for k, rate in enumerate(RATES_PER_S)
    )
    seconds = max(1, round(queries / sum(RATES_PER_S)))
    subjects = (
        (ChangeKind.DEVICE_LOST, ChangeKind.DEVICE_BACK, 3),
        (ChangeKind.SERVICE_LEFT, ChangeKind.SERVICE_CAME, 4),
    )
    changes = []
    for turn, second in enumerate(range(1, seconds, PERIOD_S)):
        away, back, count = subjects[turn % 2]
        subject = turn // 2 % count
        changes.append((second * NS_PER_S, Change(away, subject)))
        changes.append(((second + 1) * NS_PER_S, Change(back, subject)))
    return Scenario(
        name="conservation",
        tenants=tenants,
        devices=tuple(Device(f"gpu{k}") for k in range(3)),
        duration_ns=seconds * NS_PER_S,
        seed=1,
        policies=("fcfs",),
        noise=NOISES.make("lognormal"),
        changes=tuple(changes),
        reorganisation=REORGANISE,
    )


def row(policy: str, queries: int) -> Row:
    """Simulate one policy; it has to pass the validator, and leave nothing behind."""
    scenario = scenario_of(queries)
    setting = scenario.setting()
    began_ns = time.thread_time_ns()
    run = simulate(setting, policy_spec(policy))
    took_s = (time.thread_time_ns() - began_ns) / NS_PER_S
    check_run(setting.load, scenario.services, run.deployment, run.record)
    total = summarise(run, setting.load, scenario.services, 3).total
    if total.unfinished:
        raise ValueError(f"{policy}: {total.unfinished} queries never ended")
    return {
        "policy": policy,
        "queries": total.offered,
        "in time": total.in_time,
        "late": total.late,
        "dropped": total.dropped,
        "rejected": total.rejected,
        "failed": total.failed,
        "changes": len(run.record.changes),
        "plans": run.record.plans,
        "partitions": len(run.deployment.partitions),
        "us of a core a query": took_s * 1e6 / total.offered,
    }


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--queries", type=int, default=1_000_000, metavar="N", help="about (%(default)s)")
    add("--policies", default=",".join(policy_names()), metavar="NAME,...", help="(all)")
    add("--anew", action="store_true", help="run all again, not only what a stop left out")
    args = parser.parse_args()
    config = {"rates_per_s": RATES_PER_S, "queries": args.queries, "period_s": PERIOD_S}
    rows = fill(
        Table("conservation", config, ("policy",), anew=args.anew),
        [(name,) for name in args.policies.split(",")],
        lambda key: row(key[0], args.queries),
    )
    result_file.show("Every query ends once", rows)


if __name__ == "__main__":
    main()
