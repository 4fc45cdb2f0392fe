"""``python -m bench abacus_many --data DIR``: Abacus on its triplets and its quadruplet.

As ``abacus_pairs``, but nobody published times of groups of more than two models: they follow from
those of pairs by a stated assumption (``GroupTimes``), nor targets: 150 ms for all. So only the
order of the policies means something, not the figures.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from bench.abacus.runs import abacus, figures, perfect, scenario_files
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import policy_spec, read_scenario

SECONDS, SEEDS = 20.0, (1, 2, 3, 4, 5)
LOADS = ("50", "100")
BASELINES = ("fcfs_expired", "sjf_expired", "edf_drop", "clockwork")
PAPER = {
    "3 at 50, p99": (-0.213, -0.353),
    "3 at 100, served": (0.510, 0.723),
    "4 at 50, p99": (-0.161, -0.343),
    "4 at 100, served": (0.384, 0.539),
}
"""Against FCFS and SJF; Abacus (SC'21), section 7.4."""


def gains(rows: list[Row]) -> list[Row]:
    """Ratios of means over the sets of one size, less 1, beside the paper's."""
    lines = []
    for what, paper in PAPER.items():
        size, load = what.split(" at ")
        load, figure = load.split(", ")
        figure = {"p99": "p99_of_target", "served": "served_per_s"}[figure]
        own = [r for r in rows if r["load"] == load and str(r["set"].count(" + ") + 1) == size]
        mean = {
            name: statistics.mean(row["policies"][name][figure] for row in own)
            for name in own[0]["policies"]
        }
        line: Row = {"what": what}
        for other, theirs in zip(("fcfs_expired", "sjf_expired"), paper, strict=True):
            line |= {f"ours, {other}": round(mean["abacus"] / mean[other] - 1, 4)}
            line |= {f"paper, {other}": theirs}
        lines.append(line)
    return lines


def main() -> int:
    """Fill the table and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_many", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    add_budget(parser)
    args = parser.parse_args()
    scenarios = [read_scenario(path, args.data) for path in scenario_files("abacus_many")]
    named = {" + ".join(service.name for service in s.services): s for s in scenarios}
    specs = {name: policy_spec(name) for name in BASELINES}
    specs["abacus"] = abacus("mlp_four")
    specs |= {"abacus, perfect predictor": perfect()}

    def measure(key: Key) -> Row:
        found = figures(named[key[0]], specs, float(key[1]), SECONDS, SEEDS)
        return {"set": key[0], "load": key[1], "policies": found}

    config = {"seconds": SECONDS, "seeds": SEEDS, "policies": list(specs)}
    table = Table("abacus_many", config, ("set", "load"))
    keys = [(name, load) for name in named for load in LOADS]
    if not fill_within(table, keys, measure, args.seconds):
        return 3
    for row in table.rows:
        lines = [{"policy": name} | one for name, one in row["policies"].items()]
        result_file.show(f"{row['set']} at {row['load']}", lines)
    result_file.show("Gains", gains(table.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
