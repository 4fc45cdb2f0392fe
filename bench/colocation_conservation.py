"""A million queries for every policy while devices fail, services go and plans are replaced.

``python -m bench.colocation_conservation [--queries 1000000] [--seconds 100]``

Every query must end as exactly one of in time, late, dropped, rejected, failed; the validator
judges each run. The same command goes on where it was stopped; the digest of a row is the same
whenever it is run again.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from bench import result_file
from bench.budget import add_budget, fill_within
from bench.resumable import Key, Row, Table
from colocation import Run, Setting, check_run, policy_names, policy_spec, simulate, summarise
from colocation.arrivals.bursty import Bursty
from colocation.arrivals.steady import Poisson
from colocation.change import Change, ChangeKind
from colocation.clock import NS_PER_S
from colocation.interference.pairwise import Pairwise
from colocation.noise import NOISES
from colocation.profiles.affine import Affine
from colocation.reorganiser import ReorganisationParams
from colocation.scenario import Scenario, Tenant
from colocation.service import Device, Service

QUERIES = 1_000_000
SEED = 1
FAILS_EVERY = 97
"""Every so many groups, one fails."""
PERIOD_NS = 20 * NS_PER_S
"""In each of them a device fails for a while, and a service leaves for a while."""
SERVICES = (
    ("light", 30, 16, 3_000_000, 500_000, Poisson(150)),
    ("heavy", 100, 16, 6_000_000, 1_500_000, Bursty(60, 2.5)),
    ("rare", 60, 4, 8_000_000, 1_000_000, Poisson(10)),
)


def scenario_of(queries: int) -> Scenario:
    """Two devices and three services; so many queries on the mean."""
    tenants = tuple(
        Tenant(
            Service(name, slo_ms * 1_000_000, most),
            Affine(fixed_ns, per_item_ns, 40, 0.05),
            arrivals,
        )
        for name, slo_ms, most, fixed_ns, per_item_ns, arrivals in SERVICES
    )
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in tenants)
    return Scenario(
        name="conservation",
        tenants=tenants,
        devices=(Device("gpu0"), Device("gpu1")),
        duration_ns=round(queries / rate_per_s * NS_PER_S),
        seed=SEED,
        policies=(),
        noise=NOISES.make("lognormal"),
        interference=Pairwise([row[0] for row in SERVICES], 0.05),
    )


def changes(duration_ns: int) -> Iterator[tuple[int, Change]]:
    """A device is lost and comes back, then a service leaves and comes back; in turn."""
    for number, start_ns in enumerate(range(0, duration_ns, PERIOD_NS)):
        device, service = number % 2, number % len(SERVICES)
        yield start_ns + 4 * NS_PER_S, Change(ChangeKind.DEVICE_LOST, device)
        yield start_ns + 9 * NS_PER_S, Change(ChangeKind.DEVICE_BACK, device)
        yield start_ns + 13 * NS_PER_S, Change(ChangeKind.SERVICE_LEFT, service)
        yield start_ns + 16 * NS_PER_S, Change(ChangeKind.SERVICE_CAME, service)


def setting_of(queries: int) -> Setting:
    """The scenario with all that can go wrong."""
    setting = scenario_of(queries).setting()
    return replace(
        setting,
        failures=frozenset(range(FAILS_EVERY, 2 * queries, FAILS_EVERY)),
        changes=tuple(changes(setting.load.duration_ns)),
        reorganisation=ReorganisationParams(reorganisation_ns=2 * NS_PER_S),
    )


def digest(run: Run) -> str:
    """What happened to whom and when, as a few letters."""
    columns = (run.record.outcome, run.record.ended_ns, run.record.group_start_ns)
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()[:12]


def measure(setting: Setting, policy: str) -> Row:
    """Run a policy, and count how the queries ended.

    Raises
    ------
    ValueError
        If the validator finds something.
    """
    began = time.process_time()
    run = simulate(setting, policy_spec(policy))
    seconds = time.process_time() - began
    services = setting.demand.services
    check_run(setting.load, services, run.deployment, run.record)
    total = summarise(run, setting.load, services, len(setting.demand.devices)).total
    ends = (total.in_time, total.late, total.dropped, total.rejected, total.failed)
    if sum(ends) != total.offered or total.unfinished:
        raise ValueError(f"{policy}: {total.offered} queries, of which {sum(ends)} ended")
    names = ("in_time", "late", "dropped", "rejected", "failed")
    return {
        "policy": policy,
        "queries": total.offered,
        **dict(zip(names, ends, strict=True)),
        "plans": run.record.plans,
        "queries_per_min": round(total.offered / seconds * 60),
        "digest": digest(run),
    }


def main() -> int:
    """Fill the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N")
    add_budget(parser)
    args = parser.parse_args()
    setting = setting_of(args.queries)
    table = Table("colocation_conservation", {"queries": args.queries}, ("policy",))

    def row(key: Key) -> Row:
        return measure(setting, key[0])

    fill_within(table, [(name,) for name in policy_names()], row, args.seconds)
    result_file.show("colocation_conservation", table.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
