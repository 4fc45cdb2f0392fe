"""``surplus`` on each paper's own ground: the paper's scenarios, beside the paper's policy.

``python -m bench colocation_own_grounds --data ABACUS_PAIRS --data FOLDER_OF_VELTAIR``

A row is a scenario of bench/configs/colocation: what the paper's policy and ``surplus`` answer in
time, and how fairly (Jain); and ``surplus`` with a guarantee of all its queries to every service,
which nobody can have in overload: then the least are nearly alike. Loads are the scenarios' own,
cut as in ``colocation_all``. Where the paper's policy has a latency model of groups, ``surplus``
has the same. The same command goes on where it was stopped; ``--table`` shows what there is, by
paper.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from bench.colocation.all import CONFIG as ALL_CONFIG
from bench.colocation.all import scenario_names, scenario_of, simulated, stored_parser
from bench.colocation.scenario_tables import Folders, fill_and_sum_up
from bench.infrastructure.resumable import Key, Row, Table
from surplus.colocation import Scenario

PAPERS: Mapping[str, str] = {
    "abacus_pairs": "abacus",
    "abacus_many": "abacus",
    "dstack": "dstack",
    "gpulet": "gpulet_int",
    "veltair": "veltair",
}
"""Folders of scenarios, and the policy of whom they are of."""
OURS = "surplus"
GUARANTEE = 1.0
CONFIG = {**ALL_CONFIG, "guarantee": GUARANTEE}


def measure(key: Key, data: Folders) -> Row:
    """One scenario, by both."""
    (name,) = key
    paper = name.split("/")[0]
    theirs, scenario = PAPERS[paper], scenario_of(name, data)
    found = simulated(scenario, theirs)
    knows = knowing(scenario, theirs)
    own, fair = (simulated(one, OURS) for one in (knows, guaranteeing(knows)))
    return {
        "scenario": name,
        "paper": paper,
        "policy": theirs,
        "in time": found["goodput"],
        "surplus": own["goodput"],
        "fairness": found["fairness"],
        "surplus, fairness": own["fairness"],
        "guarantee": fair["goodput"],
        "guarantee, fairness": fair["fairness"],
    }


def knowing(scenario: Scenario, policy: str) -> Scenario:
    """The scenario with ours knowing the latency model that a policy has there, if it has one."""
    path: Any = scenario.policy_options.get(policy, {}).get("predictor", {}).get("path")
    if path is None:
        return scenario
    return _telling(scenario, {"planner": {"path": path}, "predictor": {"path": path}})


def guaranteeing(scenario: Scenario) -> Scenario:
    """The scenario with ours giving every service its guarantee."""
    return _telling(scenario, {"guarantee": GUARANTEE})


def _telling(scenario: Scenario, options: Mapping[str, object]) -> Scenario:
    told = {**scenario.policy_options.get(OURS, {}), **options}
    return replace(scenario, policy_options={**scenario.policy_options, OURS: told})


def by_paper(rows: Sequence[Row]) -> list[Row]:
    """A row a paper: both on the mean, and where ours is furthest below."""
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    return [_summary(paper, [row for row in rows if row["paper"] == paper]) for paper in papers]


def _summary(paper: str, rows: Sequence[Row]) -> Row:
    worst = min(rows, key=lambda row: float(row["surplus"] - row["in time"]))
    least = min(rows, key=lambda row: float(row["surplus, fairness"] - row["fairness"]))
    return {
        "paper": paper,
        "policy": rows[0]["policy"],
        "scenarios": len(rows),
        "its % in time": f"{100 * fmean(row['in time'] for row in rows):.1f}",
        "surplus": f"{100 * fmean(row['surplus'] for row in rows):.1f}",
        "least ahead, points": f"{100 * (worst['surplus'] - worst['in time']):.1f}",
        "its fairness": round(fmean(row["fairness"] for row in rows), 3),
        "fairness of surplus": round(fmean(row["surplus, fairness"] for row in rows), 3),
        "least fair beside it": f"{least['surplus, fairness'] - least['fairness']:.3f}",
        "% in time, guarantee 1": f"{100 * fmean(row['guarantee'] for row in rows):.1f}",
        "fairness, guarantee 1": round(fmean(row["guarantee, fairness"] for row in rows), 3),
    }


def main() -> int:
    """Fill the table, or show what there is."""
    args = stored_parser(__doc__).parse_args()
    table = Table("colocation_own_ground_rows", CONFIG, ("scenario",))
    names = [name for name in scenario_names(args.only) if name.split("/")[0] in PAPERS]
    keys: list[Key] = [(name,) for name in names]
    fill_and_sum_up(table, "colocation_own_grounds", keys, measure, by_paper, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
