"""Promises of 99.9 %: how many are kept over a million queries, and what they cost.

``python -m bench colocation_certificates [--runs 10] [--cases lost] [--seconds 100]``

A row is a case, a load and a run of 100,000 queries with luck of its own: by ``surplus`` with a
promise, and by the same policy without. Loads are times the rate at which the clairvoyant bound
falls below 99 %, which is far above what policies hold here: 0.3 is easy, 0.5 too much. Kept are
admitted queries that are answered in time; what a lost device ran is not. Who is refused is told so
when it comes. In the case ``steady`` all is as profiles say; ``wrong`` has times 30 % above and
below them, by service; ``moving`` rates that go up and down; ``lost`` a device that is away for a
quarter of the run from its middle on; ``all`` all of that. The same command goes on where it was
stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import Any

import numpy as np

from bench.colocation.wrong_profiles import off_by
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import Run, Setting, check_run, policy_spec, simulate
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.arrivals.steps import Steps
from surplus.colocation.families.normal_load import full_scale
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.policies.names import with_options
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.scenarios.scenario import Scenario, Tenant

PROMISE = 0.999
QUERIES = 100_000
RUNS = 10
CASES = ("steady", "wrong", "moving", "lost", "all")
LOADS = (0.3, 0.4, 0.5)
FACTORS = (1.3, 0.7, 1.3, 0.7)
"""Times over profiles where those are wrong, by service."""
RATES = (0.7, 1.2, 0.9, 1.3, 0.6, 1.3)
"""Over the mean, in turns, where arrivals change."""
STEP_S = 10.0
DEVICES = 2
REORGANISATION = ReorganisationParams(5 * NS_PER_S, NS_PER_S, windows=8)
_PROBE = 2000

TENANTS = (
    Tenant(Service("short", 100_000_000, 16), Affine(8_000_000, 1_600_000, 40, 0.05), Poisson(240)),
    Tenant(Service("middle", 250_000_000, 16), Affine(16_000_000, 4_000_000, 60, 0.1), Poisson(90)),
    Tenant(Service("long", 600_000_000, 16), Affine(36_000_000, 10_000_000, 50, 0.1), Poisson(30)),
    Tenant(Service("rare", 400_000_000, 4), Affine(48_000_000, 8_000_000, 30, 0.2), Poisson(8)),
)


def scenario_of(case: str, load: float, queries: int, seed: int) -> Scenario:
    """A case at a load, for so many queries on the mean."""
    tenants = [replace(own, arrivals=own.arrivals.scaled(load * _whole_load())) for own in TENANTS]
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in tenants)
    duration_ns = round(queries / rate_per_s * NS_PER_S)
    if case in ("moving", "all"):
        steps = -(-duration_ns // round(STEP_S * NS_PER_S))
        tenants = [replace(own, arrivals=_moving(own, steps)) for own in tenants]
    lost = (
        (duration_ns // 2, Change(ChangeKind.DEVICE_LOST, 0)),
        (duration_ns * 3 // 4, Change(ChangeKind.DEVICE_BACK, 0)),
    )
    made = _plain(tuple(tenants), duration_ns, seed)
    return replace(made, changes=lost) if case in ("lost", "all") else made


def _plain(tenants: Sequence[Tenant], duration_ns: int, seed: int) -> Scenario:
    return Scenario(
        name="certificates",
        tenants=tuple(tenants),
        devices=tuple(ServingDevice(f"gpu{k}") for k in range(DEVICES)),
        duration_ns=duration_ns,
        seed=seed,
        policies=(),
        noise=NOISES.make("lognormal"),
        interference=Pairwise([tenant.service.name for tenant in tenants], 0.05),
        reorganisation=REORGANISATION,
    )


@lru_cache(maxsize=1)
def _whole_load() -> float:
    """The factor on the rates at which nobody could hold them."""
    return full_scale(_plain(TENANTS, NS_PER_S, 1), _PROBE)


def _moving(tenant: Tenant, steps: int) -> Steps:
    rate_per_s = tenant.arrivals.rate_per_s
    return Steps([rate_per_s * RATES[k % len(RATES)] for k in range(steps)], STEP_S)


def setting_of(case: str, load: float, queries: int, seed: int) -> Setting:
    """What is served; where profiles are wrong policies see those all the same."""
    setting = scenario_of(case, load, queries, seed).setting()
    return off_by(setting, FACTORS) if case in ("wrong", "all") else setting


def promises(run: Run, load: Load) -> list[tuple[int, int]]:
    """Of each service: admitted queries, and those of them that are in time."""
    outcome = np.frombuffer(run.record.outcome, np.int8)
    at_once = np.frombuffer(run.record.ended_ns, np.int64) == load.arrival_ns
    admitted = ~(np.isin(outcome, (Outcome.DROPPED, Outcome.REJECTED)) & at_once)
    kept = outcome == Outcome.IN_TIME
    services = range(int(load.service.max()) + 1)
    return [
        (int((own & admitted).sum()), int((own & kept).sum()))
        for own in (load.service == k for k in services)
    ]


def goodput(run: Run) -> float:
    """Share of all queries that are in time."""
    return float((np.frombuffer(run.record.outcome, np.int8) == Outcome.IN_TIME).mean())


def measure(policy: str, queries: int, case: str, load: float, seed: int) -> Row:
    """Serve a run with promises and without."""
    setting = setting_of(case, load, queries, seed)
    plain = policy_spec(policy)
    promising = with_options(plain, {"promise": PROMISE})
    if plain.dispatcher == "priced":
        promising = replace(promising, dispatcher="promised")
    runs = [simulate(setting, spec) for spec in (promising, plain)]
    for run in runs:
        check_run(setting.load, setting.demand.services, run.deployment, run.record)
    by_service = promises(runs[0], setting.load)
    admitted = sum(own for own, _ in by_service)
    return {
        "case": case,
        "load": load,
        "run": seed,
        "queries": len(setting.load),
        "admitted": admitted,
        "broken": admitted - sum(kept for _, kept in by_service),
        "least": round(min(kept / max(1, own) for own, kept in by_service), 5),
        "goodput": round(goodput(runs[0]), 5),
        "without": round(goodput(runs[1]), 5),
    }


def sums(rows: Sequence[Row]) -> list[Row]:
    """A row for each case and load."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["case"], row["load"]), []).append(row)
    return [_sum(own) for own in found.values()]


def _sum(rows: Sequence[Row]) -> Row:
    admitted = sum(row["admitted"] for row in rows)
    broken = sum(row["broken"] for row in rows)
    with_, without = (100 * fmean(row[name] for row in rows) for name in ("goodput", "without"))
    return {
        "case": rows[0]["case"],
        "load": rows[0]["load"],
        "queries": sum(row["queries"] for row in rows),
        "kept %": f"{100 * (1 - broken / max(1, admitted)):.3f}",
        "worst service and run %": f"{100 * min(row['least'] for row in rows):.2f}",
        "refused %": round(100 * (1 - admitted / sum(row["queries"] for row in rows)), 2),
        "in time %": f"{with_:.2f}",
        "without promises %": f"{without:.2f}",
        "cost, points": f"{without - with_:.2f}",
    }


def main() -> int:
    """Fill the table; show its sums."""
    args = _parser().parse_args()
    config = {"policy": args.policy, "queries": args.queries, "promise": PROMISE}
    table = Table("colocation_certificate_runs", config, ("case", "load", "run"))
    runs = range(1, args.runs + 1)
    keys = [(c, str(x), str(run)) for run in runs for c in args.cases for x in args.loads]

    def row(key: Key) -> Row:
        return measure(args.policy, args.queries, key[0], float(key[1]), int(key[2]))

    fill_within(table, keys, row, args.seconds, whole=False)
    found = sums(sorted(table.rows, key=lambda own: (CASES.index(own["case"]), own["load"])))
    there = [table.key_of(own) for own in table.rows]
    table.sum_up("colocation_certificates", there, found, store=args.store)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--runs", type=int, default=RUNS, metavar="N", help="of each case and load")
    add("--queries", type=int, default=QUERIES, metavar="N", help="of a run, on the mean")
    add("--cases", nargs="+", choices=CASES, default=CASES, metavar="NAME", help=", ".join(CASES))
    add(
        "--loads",
        nargs="+",
        type=float,
        default=LOADS,
        metavar="X",
        help="times what the bound holds",
    )
    add("--policy", choices=("surplus", "priced"), default="surplus", help="(%(default)s)")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
