"""Policies whose profiles are 30 % wrong: what is left of what they answer in time.

``python -m bench colocation_wrong_profiles --data ABACUS_PAIRS [--policies surplus,clockwork]``

A row is a family, a seed of its generator and a load (as in ``colocation_table``), once with
profiles that are right and once where the models take 0.7 or 1.3 times as long as they say, by
service, one after the other; which way round is the seed's. Policies see the same profiles either
way. The same command goes on where it was stopped; ``--table`` shows what there is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bench.colocation.drawn_scenarios import (
    QUERIES,
    by_policy,
    drawn_parser,
    goodput,
    whole,
    words,
)
from bench.colocation.scenario_tables import Folders, fill_and_sum_up
from bench.infrastructure.resumable import Key, Row, Table
from surplus.colocation import Setting, simulate
from surplus.colocation.families.normal_load import at_load
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.results.comparison import Runner, compare_able
from surplus.colocation.truths.truth import Pace, PacedTruth

WRONG = 0.3
POLICIES = ("surplus", "priced", "max_throughput_drop", "clockwork", "gpulet_int")
LOADS = ("0.5", "0.7", "0.85")
CONFIG = {"queries": QUERIES, "wrong": WRONG}


def off_by(setting: Setting, factors: tuple[float, ...]) -> Setting:
    """The setting where models take so many times what their profiles say, by service."""
    return replace(setting, truth=PacedTruth(setting.truth, Pace(NS_PER_S, (1.0,), factors)))


def wrong(setting: Setting, seed: int) -> Setting:
    """The setting where models take longer and shorter than their profiles say."""
    count = len(setting.demand.services)
    return off_by(setting, tuple(1 + WRONG * (1 if (k + seed) % 2 else -1) for k in range(count)))


def measure(key: Key, policies: Sequence[str], data: Folders) -> Row:
    """All policies, with right profiles and with wrong ones."""
    family, seed, load = key
    scenario, scale = whole(family, seed, data)
    scenario = at_load(scenario, float(load) * scale, QUERIES)

    def in_time(run: Runner) -> dict[str, float | None]:
        _, compared, _ = compare_able(scenario, policies, run)
        return by_policy(policies, compared, goodput)

    return {
        "family": family,
        "seed": seed,
        "load": load,
        "right": in_time(simulate),
        "wrong": in_time(lambda setting, spec: simulate(wrong(setting, int(seed)), spec)),
    }


def summaries(rows: Sequence[Row]) -> list[Row]:
    """A row a policy: in time on the mean, and how far below the best of the row, at worst."""
    policies = list(dict.fromkeys(name for row in rows for name in row["wrong"]))
    return [_summary(rows, policy) for policy in policies]


def _summary(rows: Sequence[Row], policy: str) -> Row:
    able = [row for row in rows if row["wrong"].get(policy) is not None]
    best = [max(g for g in row["wrong"].values() if g is not None) for row in able]
    gaps = [100 * (most - row["wrong"][policy]) for most, row in zip(best, able, strict=True)]
    return {
        "policy": policy,
        "scenarios": f"{len(able)} of {len(rows)}",
        "in time %, profiles right": _mean([row["right"][policy] for row in able]),
        "profiles wrong": _mean([row["wrong"][policy] for row in able]),
        "below the best there, points": f"{fmean(gaps):.2f}" if gaps else "-",
        "worst": f"{max(gaps):.1f}" if gaps else "-",
    }


def _mean(shares: Sequence[float]) -> str:
    return f"{100 * fmean(shares):.2f}" if shares else "-"


def main() -> int:
    """Fill the table, or show what there is."""
    parser = drawn_parser(__doc__, POLICIES)
    parser.add_argument("--loads", type=words, default=list(LOADS), metavar="X,...")
    args = parser.parse_args()
    config = {**CONFIG, "policies": args.policies}
    table = Table("colocation_wrong_profile_rows", config, ("family", "seed", "load"))
    keys = [(f, s, x) for s in args.seeds for f in args.families for x in args.loads]

    def row(key: Key, data: Folders) -> Row:
        return measure(key, args.policies, data)

    fill_and_sum_up(table, "colocation_wrong_profiles", keys, row, summaries, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
