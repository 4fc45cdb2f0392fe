"""A million queries for every policy while devices fail, services go and plans are replaced.

``python -m bench colocation_conservation [--queries 1100000] [--seconds 100]``

Every query must end as exactly one of in time, late, dropped, rejected, failed; the validator
judges each run. They come in runs of 100,000 on the mean, each with luck and changes of its own:
the first one of every policy, then the second, and so on; eleven are more than a million. First
runs are run again by another process, which must find the same to the last bit. The same command
goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import (
    Run,
    Setting,
    check_run,
    policy_names,
    policy_spec,
    simulate,
    summarise,
)
from surplus.colocation.arrivals.bursty import Bursty
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.scenarios.scenario import Scenario, Tenant

QUERIES = 1_100_000
OF_A_RUN = 100_000
FAILS_EVERY = 97
"""Every so many groups, one fails."""
HERE_S, AWAY_S = 12.0, 3.0
"""How long devices and services stay and are gone on the mean, each for itself."""
REORGANISATION = ReorganisationParams(5 * NS_PER_S, NS_PER_S, windows=4)
ENDS = ("in_time", "late", "dropped", "rejected", "failed")

TENANTS = (
    Tenant(Service("light", 30_000_000, 16), Affine(3_000_000, 500_000, 40, 0.05), Poisson(150)),
    Tenant(
        Service("heavy", 100_000_000, 16, operators=12),
        Affine(6_000_000, 1_500_000, 40, 0.05),
        Bursty(50, 2.5),
    ),
    Tenant(
        Service("several", 80_000_000, 16, operators=6, max_queue=12),
        Affine(4_000_000, 1_000_000, 30, 0.05),
        Bursty(20, 4),
        items=(1, 2, 4),
    ),
    Tenant(Service("rare", 60_000_000, 4), Affine(8_000_000, 1_000_000, 50, 0.05), Poisson(10)),
)
"""Short and long targets, queries in parts and of several items, a short queue, bursts."""
DEVICES = 2


def setting_of(queries: int, seed: int) -> Setting:
    """So many queries on the mean, with all that can go wrong."""
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in TENANTS)
    duration_ns = round(queries / rate_per_s * NS_PER_S)
    scenario = Scenario(
        name="conservation",
        tenants=TENANTS,
        devices=tuple(ServingDevice(f"gpu{k}") for k in range(DEVICES)),
        duration_ns=duration_ns,
        seed=seed,
        policies=(),
        noise=NOISES.make("lognormal"),
        overlap=0.2,
        interference=Pairwise([tenant.service.name for tenant in TENANTS], 0.05),
        changes=tuple(sorted(changes(duration_ns, seed))),
        reorganisation=REORGANISATION,
    )
    failures = frozenset(range(FAILS_EVERY, 2 * queries, FAILS_EVERY))
    return replace(scenario.setting(), failures=failures)


def changes(duration_ns: int, seed: int) -> Iterator[tuple[int, Change]]:
    """Each device and service stays and is away for exponential times; several may be away."""
    generator = np.random.default_rng(seed)
    kinds = (
        (ChangeKind.DEVICE_LOST, ChangeKind.DEVICE_BACK, DEVICES),
        (ChangeKind.SERVICE_LEFT, ChangeKind.SERVICE_CAME, len(TENANTS)),
    )
    for away, back, count in kinds:
        for subject in range(count):
            now_ns, here = 0, True
            while now_ns < duration_ns:
                mean_s = HERE_S if here else AWAY_S
                now_ns += 1 + round(generator.exponential(mean_s) * NS_PER_S)
                yield now_ns, Change(away if here else back, subject)
                here = not here


def digest(run: Run) -> str:
    """What happened to whom, where and when, as a few letters."""
    columns = (column for _, column in sorted(vars(run.record).items()))
    hashed = hashlib.sha256()
    for column in columns:
        if isinstance(column, array):
            hashed.update(column.tobytes())
    return hashed.hexdigest()[:12]


def counted(policy: str, queries: int, seed: int) -> Row:
    """Run a policy; how the queries ended, how often it planned, and the digest of all.

    Raises
    ------
    ValueError
        If the validator finds something, or a query does not end once.
    """
    setting = setting_of(queries, seed)
    run = simulate(setting, policy_spec(policy))
    services = setting.demand.services
    check_run(setting.load, services, run.deployment, run.record)
    total = summarise(run, setting.load, services, DEVICES).total
    ends = {name: getattr(total, name) for name in ENDS}
    if total.unfinished or {sum(ends.values()), total.offered} != {len(setting.load)}:
        raise ValueError(f"{policy}: {total.offered} queries, of which {ends} ended")
    return {
        "run": str(seed),
        "policy": policy,
        "queries": total.offered,
        **ends,
        "changes": len(run.record.changes),
        "plans": run.record.plans,
        "digest": digest(run),
    }


def measure(policy: str, queries: int, seed: int) -> Row:
    """As ``counted``; the first run also by another process.

    Raises
    ------
    ValueError
        As ``counted``, or if the other process does not find the same.
    """
    row = counted(policy, queries, seed)
    if seed == 1 and again(policy, queries) != row:
        raise ValueError(f"{policy}: seed 1 does not replay bit by bit")
    return row


def again(policy: str, queries: int) -> Row:
    """The first run, by a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(counted, policy, queries, 1).result()


def sums(rows: Sequence[Row]) -> list[Row]:
    """A row for each policy, and one for all."""
    by_policy: dict[str, list[Row]] = {}
    for row in rows:
        by_policy.setdefault(row["policy"], []).append(row)
    return [_sum(name, own) for name, own in (by_policy | {"all": list(rows)}).items()]


def _sum(policy: str, rows: Sequence[Row]) -> Row:
    names = ("queries", *ENDS, "changes", "plans")
    return {
        "policy": policy,
        "runs": len(rows),
        **{name: sum(row[name] for row in rows) for name in names},
        "replayed": sum(row["run"] == "1" for row in rows),
    }


def main() -> int:
    """Fill the table; show its sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--queries", type=int, default=QUERIES, metavar="N", help="of each policy")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    args = parser.parse_args()
    of_a_run = min(args.queries, OF_A_RUN)
    seeds = range(1, 1 + args.queries // of_a_run)
    keys = [(str(seed), policy) for seed in seeds for policy in policy_names()]
    table = Table("colocation_conservation", {"queries": of_a_run}, ("run", "policy"))

    def row(key: Key) -> Row:
        return measure(key[1], of_a_run, int(key[0]))

    done = fill_within(table, keys, row, args.seconds)
    if args.store and not done:
        table.store(keys)
    result_file.show("colocation_conservation", sums(table.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
