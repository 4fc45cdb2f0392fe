"""D-STACK (TCC'24), section 7: C-2 to C-7, four saturated models, four devices, simulated.

``python -m bench dstack_gains [SCENARIO ...]``. Means over five traces. The latency law is assumed
(the scenario files state it), the truth is that law with noise, which no policy sees. Policies
drop what cannot be answered in time even alone, where their name does not say otherwise.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from surplus.colocation import RunSummary, compare, read_scenario

FOLDER = Path(__file__).parents[1] / "configs" / "colocation" / "dstack"
SCENARIOS = ("c2", "c3", "c4", "c7", "saturated", "cluster")
SEEDS = (1, 2, 3, 4, 5)
POLICIES = {
    "dstack": "D-STACK",
    "dstack_plain": "turns alone",
    "dstack_fill": "fill alone",
    "dstack_temporal": "whole device, D-STACK's order and batches",
    "temporal_drop": "best-effort temporal",
    "slices_drop": "slices by target",
    "slices": "slices by target, no drops",
}
PAPER = {
    "c2": {"dstack": "0"},
    "c3": {"dstack": "0"},
    "c4": {"dstack": "0"},
    "c7": {"dstack": "10", "slices_drop": "> 68", "slices": "> 68"},
}
"""Misses in percent."""
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
"""What must hold: scenario, column of the summary, direction, bound."""


def rows_of(name: str) -> list[dict[str, Any]]:
    """A row for each policy."""
    scenario = read_scenario(FOLDER / f"{name}.toml")
    found: dict[str, list[RunSummary]] = {policy: [] for policy in POLICIES}
    for seed in SEEDS:
        _, compared = compare(replace(scenario, seed=seed), list(POLICIES))
        for one in compared:
            found[one.summary.policy].append(one.summary)
    goodput = {p: _mean([s.total.goodput_per_s for s in rows]) for p, rows in found.items()}
    return [_row(name, policy, rows, goodput) for policy, rows in found.items()]


def _row(
    name: str, policy: str, rows: list[RunSummary], goodput: dict[str, float]
) -> dict[str, Any]:
    own = goodput[policy]
    return {
        "policy": POLICIES[policy],
        "misses %": 100 * _mean([s.total.violations for s in rows]),
        "paper": PAPER.get(name, {}).get(policy, "-"),
        "in time / s": own,
        "over temporal": own / goodput["temporal_drop"],
        "over slices": own / goodput["slices_drop"],
        "served / s": _mean([s.total.served_per_s for s in rows]),
        "device in use %": 100 * _mean([s.utilisation for s in rows]),
        "fairness": _mean([s.fairness for s in rows]),
        "decision µs": _mean([s.decision_mean_ns / 1000 for s in rows]),
    }


def _mean(values: list[float]) -> float:
    return statistics.fmean(values)


def summary_rows() -> list[dict[str, Any]]:
    """D-STACK in every scenario whose table is stored."""
    rows = []
    for name in SCENARIOS:
        path = result_file.path_of(f"dstack_{name}")
        if path.exists():
            found = result_file.read_rows(path)
            rows.append(_summary(name, {row["policy"]: row for row in found}))
    return rows


def _summary(name: str, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    own, whole = rows[POLICIES["dstack"]], rows[POLICIES["dstack_temporal"]]
    return {
        "scenario": name,
        "misses %": own["misses %"],
        "paper": own["paper"],
        "in use %": own["device in use %"],
        "in time / s": own["in time / s"],
        "over temporal": own["over temporal"],
        "over temporal, same batches": own["in time / s"] / whole["in time / s"],
        "over slices": own["over slices"],
        "served over slices without drops": own["served / s"]
        / rows[POLICIES["slices"]]["served / s"],
        "fill alone, misses %": rows[POLICIES["dstack_fill"]]["misses %"],
    }


def bar_rows(summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What must hold beside what came out."""
    by_scenario = {row["scenario"]: row for row in summary}
    return [
        {
            "scenario": name,
            "figure": figure,
            "ours": by_scenario[name][figure],
            "must be": f"{direction} {bound}",
            "holds": (by_scenario[name][figure] <= bound) == (direction == "at most"),
        }
        for name, figure, direction, bound in BARS
        if name in by_scenario
    ]


def main() -> None:
    """Run and store a table for each scenario, and what D-STACK comes to in all of them."""
    for name in sys.argv[1:] or SCENARIOS:
        rows = rows_of(name)
        result_file.show(f"dstack_{name} (simulated)", rows)
        config = {"scenario": f"{name}.toml", "seeds": SEEDS, "policies": list(POLICIES)}
        result_file.write(f"dstack_{name}", config, rows)
    summary = summary_rows()
    result_file.show("dstack_gains (simulated)", summary)
    result_file.write("dstack_gains", {"seeds": SEEDS}, summary)
    bars = bar_rows(summary)
    result_file.show("What must hold", bars)
    result_file.write("dstack_bars", {"seeds": SEEDS}, bars)


if __name__ == "__main__":
    main()
