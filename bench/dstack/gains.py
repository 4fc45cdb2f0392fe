"""D-STACK (TCC'24), section 7: C-2 to C-7, four saturated models, four devices, simulated.

``python -m bench dstack_gains [SCENARIO ...]``. Means over five traces, with the half width of
their 95 % intervals. The latency law is assumed (the scenario files state it), the truth is that
law with noise, which no policy sees. Policies drop what cannot be answered in time even alone,
where their name does not say otherwise. Rows are kept as they come; the same command goes on where
it was stopped.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.dstack.compared import (
    AT_KNEE,
    COMPARED,
    DSTACK,
    FILL,
    KEPT_SLICES,
    OWN,
    SLICES,
    TEMPORAL,
    WHOLE,
)
from bench.dstack.runs import summary_of
from bench.infrastructure import result_file
from bench.infrastructure.interval import half_width
from bench.infrastructure.resumable import Table, fill
from bench.infrastructure.traces import SEEDS, add_traces
from surplus.colocation import read_scenario

FOLDER = Path(__file__).parents[1] / "configs" / "colocation" / "dstack"
SCENARIOS = ("c2", "c3", "c4", "c7", "saturated", "cluster")
PAPER = {
    "c2": {DSTACK: "0"},
    "c3": {DSTACK: "0"},
    "c4": {DSTACK: "0"},
    "c7": {DSTACK: "10", SLICES: "> 68", KEPT_SLICES: "> 68"},
}
"""Misses in percent."""
SETTINGS = (DSTACK, AT_KNEE)
BARS = (
    ("c2", "misses %", "at most", 1),
    ("c7", "misses %", "at most", 20),
    ("c7", "in use %", "at least", 85),
    ("c7", "over temporal", "at least", 1.8),
    ("c7", "over temporal, same batches", "at least", 1.8),
    ("c7", "over slices", "at least", 4),
    ("saturated", "over slices", "at least", 2.8),
    ("saturated", "served over slices without drops", "at least", 2.8),
)
"""What must hold at one of the two settings: scenario, column of the summary, direction, bound."""

Row = dict[str, Any]


def row_of(name: str, label: str, seeds: Sequence[int]) -> Row:
    """One policy in one scenario."""
    scenario = read_scenario(FOLDER / f"{name}.toml")
    rows = [summary_of(replace(scenario, seed=seed), COMPARED[label]) for seed in seeds]
    misses = [100 * s.total.violations for s in rows]
    return {
        "policy": label,
        "misses %": statistics.fmean(misses),
        "+- %": half_width(misses),
        "paper": PAPER.get(name, {}).get(label, "-"),
        "in time / s": statistics.fmean(s.total.goodput_per_s for s in rows),
        "served / s": statistics.fmean(s.total.served_per_s for s in rows),
        "device in use %": 100 * statistics.fmean(s.utilisation for s in rows),
        "fairness": statistics.fmean(s.fairness for s in rows),
        "decision µs": statistics.fmean(s.decision_mean_ns / 1000 for s in rows),
    }


def summary_rows() -> list[Row]:
    """D-STACK at both settings in every scenario whose table is stored and has them."""
    rows = []
    for name in SCENARIOS:
        path = result_file.path_of(f"dstack_{name}")
        if path.exists():
            found = {row["policy"]: row for row in result_file.read_rows(path)}
            if AT_KNEE in found:
                rows += [summary_row(name, label, found) for label in SETTINGS]
    return rows


def summary_row(name: str, label: str, rows: dict[str, Row]) -> Row:
    """One setting over what it is compared with; the best of all others beside it."""
    own = rows[label]
    others = [row for row in rows.values() if row["policy"] not in OWN]
    best = max(others, key=lambda row: float(row["in time / s"]))
    return {
        "scenario": name,
        "setting": label,
        "misses %": own["misses %"],
        "paper": rows[DSTACK]["paper"],
        "in use %": own["device in use %"],
        "fairness": own["fairness"],
        "in time / s": own["in time / s"],
        "over temporal": own["in time / s"] / rows[TEMPORAL]["in time / s"],
        "over temporal, same batches": own["in time / s"] / rows[WHOLE]["in time / s"],
        "over slices": own["in time / s"] / rows[SLICES]["in time / s"],
        "served over slices without drops": own["served / s"] / rows[KEPT_SLICES]["served / s"],
        "fill alone, misses %": rows[FILL]["misses %"],
        "best of others": best["policy"],
        "its misses %": best["misses %"],
        "its fairness": best["fairness"],
    }


def bar_rows(summary: list[Row]) -> list[Row]:
    """What must hold beside what came out, at each setting."""
    by_key = {(row["scenario"], row["setting"]): row for row in summary}
    return [
        {
            "scenario": name,
            "setting": label,
            "figure": figure,
            "ours": by_key[name, label][figure],
            "must be": f"{direction} {bound}",
            "holds": (by_key[name, label][figure] <= bound) == (direction == "at most"),
        }
        for name, figure, direction, bound in BARS
        for label in SETTINGS
        if (name, label) in by_key
    ]


def main() -> None:
    """Run and store a table for each scenario, and what D-STACK comes to in all of them."""
    parser = argparse.ArgumentParser(prog="python -m bench dstack_gains", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="of section 7 (all)")
    add_traces(parser)
    args = parser.parse_args()
    seeds = SEEDS[: args.of]
    for name in args.scenarios or SCENARIOS:
        config = {"scenario": f"{name}.toml", "seeds": seeds, "policies": list(COMPARED)}
        table = Table(f"dstack_{name}", config, ("policy",), anew=args.anew)
        keys = [(label,) for label in COMPARED]
        rows = fill(table, keys, lambda key, name=name: row_of(name, key[0], seeds))
        result_file.show(f"dstack_{name} (simulated)", rows)
    summary = summary_rows()
    result_file.show("dstack_gains (simulated)", summary)
    result_file.write("dstack_gains", {"seeds": seeds}, summary)
    bars = bar_rows(summary)
    result_file.show("What must hold", bars)
    result_file.write("dstack_bars", {"seeds": seeds}, bars)


if __name__ == "__main__":
    main()
