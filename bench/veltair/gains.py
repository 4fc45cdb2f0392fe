"""VELTAIR (ASPLOS'22), Fig. 12 to 14: highest loads with 95 % in time, cores in use, simulated.

``python -m bench veltair_gains --data DATA [--seconds 100]``, the folder that has ``veltair/``.

Means over five traces. Times of ResNet-50 are published, those of the other networks derived from
them, versions and interference stated (the scenario files say how). The same command goes on where
it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import Run, Scenario, compare, read_scenario
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import NEVER_NS
from surplus.colocation.results.capacity import CapacityParams, capacity_of
from surplus.colocation.results.capacity_search import CapacitySearchParams

FOLDER = Path(__file__).parents[1] / "configs" / "colocation" / "veltair"
SCENARIOS = ("resnet50", "medium", "heavy", "mix", "light")
BASE = "layer_wise"
"""The policy at whose highest load all of them are looked at."""
POLICIES = (
    BASE,
    "model_wise",
    "veltair_scheduling_only",
    "veltair",
    "planaria",
    "model_wise_extra",
    "blocks_11",
    "veltair_compilation_only",
    "layer_wise_extra",
    "prema",
)
SEEDS = 5
QUERIES = 120
"""Of a trace, at the scenario's rates."""
PAPER_OVER_PLANARIA = {"light": "+71", "medium": "+62", "heavy": "+44", "mix": "+68"}
SEARCH = CapacitySearchParams(tolerance=0.05, checks=())


def scenario_of(name: str, data: Path) -> Scenario:
    """A scenario, as long as its traces are."""
    scenario = read_scenario(FOLDER / f"{name}.toml", data)
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in scenario.tenants)
    return replace(scenario, duration_ns=round(QUERIES / rate_per_s * NS_PER_S))


def measure(key: Key, data: Path, rows: Sequence[Row]) -> Row:
    """Search the highest load of one policy, then look at it at that of layer-wise."""
    name, policy = key
    scenario = scenario_of(name, data)
    params = CapacityParams(target=0.95, seeds=SEEDS, search=SEARCH)
    found = capacity_of(scenario, policy, params)
    own = {"scenario": name, "policy": policy, "QPS at 95 %": found.rate_per_s}
    scales = [row["scale"] for row in rows if (row["scenario"], row["policy"]) == (name, BASE)]
    scale = scales[0] if scales else found.found.scale
    return own | {"scale": found.found.scale} | at_load(scenario.scaled(scale), policy)


def at_load(scenario: Scenario, policy: str) -> dict[str, Any]:
    """Figures of all traces of a load together; the validator judges each run."""
    runs: list[Run] = []
    offered = in_time = 0
    latency_ns: list[int] = []
    for seed in range(scenario.seed, scenario.seed + SEEDS):
        load, (one,) = compare(replace(scenario, seed=seed), [policy])
        runs.append(one.run)
        offered += one.summary.total.offered
        in_time += one.summary.total.in_time
        outcome = np.frombuffer(one.run.record.outcome, np.int8)
        ended_ns = np.frombuffer(one.run.record.ended_ns, np.int64)
        answered = (outcome == Outcome.IN_TIME) | (outcome == Outcome.LATE)
        latency_ns += (ended_ns - load.arrival_ns)[answered].tolist()
    held, ran_ns = (sum(column) for column in zip(*map(core_time, runs), strict=True))
    return {
        "load, QPS": offered * NS_PER_S / (SEEDS * scenario.duration_ns),
        "in time %": 100 * in_time / offered,
        "core ms a query": held / offered / NS_PER_MS,
        "cores of a block": held / ran_ns,
        "mean ms": float(np.mean(latency_ns)) / NS_PER_MS,
        "added cores a query": sum(len(run.record.resizes) for run in runs) / offered,
    }


def core_time(run: Run) -> tuple[int, int]:
    """Cores times nanoseconds that groups held, and nanoseconds that they ran."""
    record = run.record
    now = dict(enumerate(record.group_cores))
    end_ns = record.group_end_ns
    held = ran_ns = 0
    for group, cores in now.items():
        if end_ns[group] != NEVER_NS:
            held += cores * (end_ns[group] - record.group_start_ns[group])
            ran_ns += end_ns[group] - record.group_start_ns[group]
    for when_ns, group, cores in record.resizes:
        if end_ns[group] != NEVER_NS:
            held += (cores - now[group]) * (end_ns[group] - when_ns)
        now[group] = cores
    return held, ran_ns


def gain_rows(rows: Sequence[Row]) -> list[Row]:
    """A row a scenario, of those that have all policies that are compared in it."""
    found = []
    for name in SCENARIOS:
        own = {row["policy"]: row for row in rows if row["scenario"] == name}
        if set(own) >= {BASE, "model_wise", "veltair_scheduling_only", "veltair", "planaria"}:
            found.append(_gains(name, own))
    return found


def _gains(name: str, own: dict[str, Row]) -> Row:
    def over(policy: str, base: str) -> str:
        ratio = own[policy]["QPS at 95 %"] / own[base]["QPS at 95 %"] if base in own else 0
        return f"{100 * (ratio - 1):+.0f}" if base in own and policy in own else "-"

    blocks, layers = own["veltair_scheduling_only"], own[BASE]
    more = blocks["core ms a query"] / layers["core ms a query"] - 1
    return {
        "load": name,
        "blocks over layer-wise %": over("veltair_scheduling_only", BASE),
        "over model-wise %": over("veltair_scheduling_only", "model_wise"),
        "over model-wise, extra cores %": over("veltair_scheduling_only", "model_wise_extra"),
        "versions over blocks %": over("veltair", "veltair_scheduling_only"),
        "all over Planaria %": over("veltair", "planaria"),
        "paper %": PAPER_OVER_PLANARIA.get(name, "-"),
        "core time of blocks over layer-wise %": f"{100 * more:+.1f}",
    }


def main() -> int:
    """Fill the table, and sum it up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DATA")
    parser.add_argument("--only", default="", metavar="NAME,...", help="scenarios (all)")
    add_budget(parser)
    args = parser.parse_args()
    config = {"seeds": SEEDS, "queries": QUERIES, "tolerance": SEARCH.tolerance}
    table = Table("veltair_loads", config, ("scenario", "policy"))
    only = args.only.split(",") if args.only else SCENARIOS
    keys = [(name, policy) for policy in POLICIES for name in only]

    def row(key: Key) -> Row:
        return measure(key, args.data, table.rows)

    done = fill_within(table, keys, row, args.seconds, whole=not args.only)
    rows = table.rows
    result_file.show("veltair_loads (simulated)", rows)
    gains = gain_rows(rows)
    result_file.show("veltair_gains (simulated)", gains)
    if done:
        result_file.write("veltair_gains", config, gains)
    return 0


if __name__ == "__main__":
    sys.exit(main())
