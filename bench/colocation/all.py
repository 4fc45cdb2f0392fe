"""Every scenario of co-location under every policy, and how far the best is from the bound.

``python -m bench colocation_all --data ABACUS_PAIRS --data FOLDER_OF_VELTAIR [--only dstack]``

A row is a scenario and a policy: what is registered is what is run. Loads are cut to the first
queries of their scenario, so that all of it takes minutes; the same command goes on where it was
stopped. ``--table`` shows what there is: a row a scenario, the best policies first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.colocation.scenario_tables import Folders, read_with, scenarios_parser
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import fill_within
from surplus.colocation import Scenario, policy_names, read_scenario
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.results.capacity import BOUND
from surplus.colocation.results.comparison import check_targets, compare_able

CONFIGS = Path(__file__).parents[1] / "configs" / "colocation"
QUERIES = 3000
TARGETS = 20
"""Loads last for so many queries on the mean, and so many times the longest target, at least."""
CONFIG = {"queries": QUERIES, "targets": TARGETS}
SHOWN = 3


def scenario_names(only: str = "") -> list[str]:
    """Files below bench/configs/colocation, without their suffix."""
    paths = sorted(CONFIGS.rglob("*.toml"))
    names = (str(path.relative_to(CONFIGS).with_suffix("")) for path in paths)
    return [name for name in names if name.startswith(only)]


@lru_cache(maxsize=1)
def scenario_of(name: str, data: Folders) -> Scenario:
    """A scenario, cut as the configuration says; its files are in one of the folders.

    Raises
    ------
    ValueError
        If it cannot be read with any of the folders.
    """
    path = CONFIGS / f"{name}.toml"
    return read_with(data or (None,), lambda folder: _cut(read_scenario(path, folder)))


def _cut(scenario: Scenario) -> Scenario:
    check_targets(scenario)
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in scenario.tenants)
    enough_ns = round(QUERIES / rate_per_s * NS_PER_S)
    longest_ns = max(service.slo_ns for service in scenario.services)
    cut_ns = max(enough_ns, TARGETS * longest_ns)
    return replace(scenario, duration_ns=min(scenario.duration_ns, cut_ns))


def measure(key: Key, data: Folders) -> Row:
    """Simulate one policy on one scenario, or bound all of them."""
    name, policy = key
    try:
        scenario = scenario_of(name, data)
        figures = bounded(scenario) if policy == BOUND else simulated(scenario, policy)
    except ValueError as error:
        figures = {"goodput": None, "violations": None, "fairness": None, "note": str(error)}
    return {"scenario": name, "policy": policy, **figures}


def bounded(scenario: Scenario) -> dict[str, Any]:
    """What no policy exceeds."""
    bound = scenario_bound(scenario)
    rounded = (round(bound.goodput, 5), round(1 - bound.goodput, 5))
    return dict(zip(("goodput", "violations"), rounded, strict=True)) | {
        "fairness": None,
        "note": ("" if bound.proved else "sampled, ")
        + f"needs {sum(bound.need):.2f} of {len(scenario.devices)} devices",
    }


def simulated(scenario: Scenario, policy: str) -> dict[str, Any]:
    """Figures of one run, checked by the validator."""
    _, (one,), _ = compare_able(scenario, [policy])
    total = one.summary.total
    return {
        "goodput": round(total.goodput, 5),
        "violations": round(total.violations, 5),
        "fairness": round(one.summary.fairness, 4),
        "note": "",
    }


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """A row a scenario: the best policies, the bound, and what lies between."""
    by_scenario: dict[str, list[Row]] = {}
    for row in rows:
        by_scenario.setdefault(row["scenario"], []).append(row)
    return [_best(name, own) for name, own in by_scenario.items()]


def _best(name: str, rows: Sequence[Row]) -> Row:
    bound = next((row["goodput"] for row in rows if row["policy"] == BOUND), None)
    ran = [row for row in rows if row["goodput"] is not None and row["policy"] != BOUND]
    ran.sort(key=lambda row: (-row["goodput"], row["policy"]))
    shown = ", ".join(f"{row['policy']} {100 * row['goodput']:.1f}" for row in ran[:SHOWN])
    fcfs = next((row["goodput"] for row in ran if row["policy"] == "fcfs"), None)
    best = ran[0]["goodput"] if ran else None
    below = "-" if best is None or bound is None else f"{100 * (bound - best):.1f}"
    return {
        "scenario": name,
        "policies": f"{len(ran)} of {len([r for r in rows if r['policy'] != BOUND])}",
        "best, % in time": shown,
        "fcfs": "-" if fcfs is None else f"{100 * fcfs:.1f}",
        "bound": "-" if bound is None else f"{100 * bound:.1f}",
        "below it, points": below,
    }


def stored_parser(said: str | None) -> argparse.ArgumentParser:
    """Options that say which of these scenarios; how far to go."""
    parser = scenarios_parser(said)
    parser.add_argument("--only", default="", metavar="PREFIX", help="scenarios that begin so")
    return parser


def main() -> int:
    """Fill the table, or show what there is of it."""
    args = stored_parser(__doc__).parse_args()
    table = Table("colocation_all", CONFIG, ("scenario", "policy"))
    names = [BOUND, *policy_names()]
    keys = [(name, policy) for name in scenario_names(args.only) for policy in names]
    if not args.table:

        def row(key: Key) -> Row:
            return measure(key, tuple(args.data))

        fill_within(table, keys, row, args.seconds, whole=not args.only)
    best = best_rows(sorted(table.rows, key=lambda own: own["scenario"]))
    if args.store and table.rows:
        table.store([(name, policy) for name in scenario_names() for policy in names])
        result_file.write("colocation_best", CONFIG, best)
    result_file.show("colocation_best", best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
