"""How much load policies hold on the families: the rate at which 99 % are still in time.

``python -m bench colocation_capacity --data ABACUS_PAIRS [--policies surplus,clockwork]``

A row is a family, a seed of its generator and a policy: the highest load, in parts of the rate at
which the clairvoyant bound falls below 99 %, that it answers to 99 % in time together with all
lower ones that were looked at (``engine capacity``). Two runs of 1500 queries a load; within 4 %.
The same command goes on where it was stopped; ``--table`` shows what there is, by family: means
over the seeds, and by how much ``surplus`` is above the best other policy, at worst.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bench.colocation.drawn_scenarios import QUERIES, drawn_parser, whole
from bench.colocation.scenario_tables import Folders, fill_and_sum_up
from bench.infrastructure.resumable import Key, Row, Table
from surplus.colocation import Scenario
from surplus.colocation.families.normal_load import TARGET, at_load
from surplus.colocation.results.capacity_search import (
    CapacityFound,
    CapacitySearchParams,
    Probe,
    search_capacity,
)
from surplus.colocation.results.comparison import compare

POLICIES = ("surplus", "max_throughput_drop", "clockwork", "gpulet_int", "sjf_drop", "dstack_fill")
RUNS = 2
SEARCH = CapacitySearchParams(tolerance=0.04, least=1 / 32, most=2.0, checks=(0.9,))
CONFIG = {"queries": QUERIES, "runs": RUNS, "tolerance": SEARCH.tolerance, "target": TARGET}


def probe(scenario: Scenario, policy: str, load: float, scale: float) -> Probe:
    """Serve a load by a policy.

    Raises
    ------
    ValueError
        If the policy cannot serve the scenario.
    """
    louder = at_load(scenario, load * scale, QUERIES)
    shares, offered = [], []
    for k in range(RUNS):
        _, (one,) = compare(replace(louder, seed=louder.seed + k), [policy])
        shares.append(one.summary.total.goodput)
        offered.append(one.summary.total.offered)
    goodput = sum(s * n for s, n in zip(shares, offered, strict=True)) / max(1, sum(offered))
    return Probe(load, goodput, min(shares), max(shares), goodput >= TARGET)


def measure(key: Key, data: Folders) -> Row:
    """The capacity of one policy; 0 of one that cannot serve the scenario."""
    family, seed, policy = key
    scenario, scale = whole(family, seed, data)
    note = ""
    try:
        found = search_capacity(lambda load: probe(scenario, policy, load, scale), SEARCH)
    except ValueError as error:
        found, note = CapacityFound(0.0, None, None, ()), str(error)
    return {
        "family": family,
        "seed": seed,
        "policy": policy,
        "capacity": round(found.scale, 4),
        "held above": found.held_above,
        "note": note,
    }


def summaries(rows: Sequence[Row]) -> list[Row]:
    """A row a family: capacities on the mean, and what ``surplus`` has more than the best other."""
    families = list(dict.fromkeys(row["family"] for row in rows))
    return [_summary(family, [r for r in rows if r["family"] == family]) for family in families]


def _summary(family: str, rows: Sequence[Row]) -> Row:
    by_seed: dict[str, dict[str, float]] = {}
    for row in rows:
        by_seed.setdefault(row["seed"], {})[row["policy"]] = row["capacity"]
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    means = {
        policy: round(fmean(own[policy] for own in by_seed.values() if policy in own), 3)
        for policy in policies
    }
    leads = [
        own["surplus"] / max(0.01, max(c for name, c in own.items() if name != "surplus")) - 1
        for own in by_seed.values()
        if "surplus" in own and len(own) > 1
    ]
    lead = {"mean lead %": "-", "least lead %": "-"}
    if leads:
        lead = {
            "mean lead %": f"{100 * fmean(leads):.1f}",
            "least lead %": f"{100 * min(leads):.1f}",
        }
    return {"family": family, "seeds": len(by_seed), **means, **lead}


def main() -> int:
    """Fill the table, or show what there is."""
    args = drawn_parser(__doc__, POLICIES).parse_args()
    table = Table("colocation_capacity_rows", CONFIG, ("family", "seed", "policy"))
    keys = [(f, s, p) for s in args.seeds for f in args.families for p in args.policies]
    fill_and_sum_up(table, "colocation_capacity", keys, measure, summaries, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
