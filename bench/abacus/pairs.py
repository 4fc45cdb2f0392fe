"""``python -m bench abacus_pairs --data DIR``: Abacus and its baselines on its 21 pairs.

Every policy meets the same five traces of each pair at 50 and at 100 queries a second, judged by
times that were interpolated from the published measurements (``GroupTimes``), which no policy
sees. FCFS and EDF are the same where both services have one target, so EDF is not run; SJF without
any drop and pipelining are in ``abacus_ablations``. A row is a pair at a load, with the means over
its traces; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.abacus.bars import PERFECT, bars, by_policy
from bench.abacus.runs import Figures, abacus, figures, perfect, scenario_files
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import PolicySpec, policy_spec, read_scenario

SECONDS = 30.0
SEEDS = (1, 2, 3, 4, 5)
LOADS = ("50", "100")
BASELINES = ("fcfs", "fcfs_expired", "fcfs_drop", "sjf_expired", "sjf_drop", "clockwork")


def policies() -> dict[str, PolicySpec]:
    """What is compared."""
    found = {name: policy_spec(name) for name in BASELINES}
    found["abacus"] = abacus()
    found[PERFECT] = perfect()
    return found


def main() -> int:
    """Fill the table, print what it comes to."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_pairs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    add_budget(parser)
    args = parser.parse_args()
    files = {path.stem: path for path in scenario_files("abacus_pairs")}
    specs = policies()

    def measure(key: Key) -> Row:
        pair, load = key
        scenario = read_scenario(files[pair], args.data)
        found: dict[str, Figures] = figures(scenario, specs, float(load), SECONDS, SEEDS)
        return {"pair": pair, "load": load, "policies": found}

    keys = [(pair, load) for pair in files for load in LOADS]
    config = {"seconds": SECONDS, "seeds": SEEDS, "policies": list(specs)}
    table = Table("abacus_pairs", config, ("pair", "load"))
    if not fill_within(table, keys, measure, args.seconds):
        return 3
    for load in LOADS:
        result_file.show(
            f"{load} queries a second, means over the pairs", by_policy(table.rows, load)
        )
    result_file.show("Bars", bars(table.rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
