"""``python -m bench abacus_targets --data DIR``: Abacus's pairs under both of its target rules.

The paper's text gives each service twice its solo latency, its public release one longer target to
each pair; what Abacus gains depends on that more than on anything else. So every policy meets the
same traces under both, beside EDF with Abacus's own drop rule and Clockwork. ``--inputs least`` has
queries of the least inputs (``inputs.py``), whose loads are ``--scale`` times as high, and charges
each decision with the paper's 0.26 ms in two more rows.

A row is a pair at a load under a rule, with the means over its traces; rows are kept as they come,
and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.abacus.ablations import THINKING_NS
from bench.abacus.bars import ABACUS, PERFECT, by_policy, mean
from bench.abacus.inputs import INPUTS
from bench.abacus.runs import abacus, figures, perfect, scenario_files
from bench.abacus.target_rules import TARGETS
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import PolicySpec, policy_spec, read_scenario

SECONDS, SEEDS = 15.0, (1, 2, 3, 4, 5)
LOADS = ("50", "100")
BASELINES = ("fcfs_expired", "sjf_expired", "edf_expired", "edf_drop", "clockwork")
GAINED = ("p99_of_target", "violations", "served_per_s", "goodput_per_s")


def policies(inputs: str) -> dict[str, PolicySpec]:
    """What is compared."""
    found = {name: policy_spec(name) for name in BASELINES}
    found |= {ABACUS: abacus(), PERFECT: perfect()}
    if inputs != "all":
        thinking = {"thinking_ns": THINKING_NS}
        found["abacus, 0.26 ms a decision"] = abacus(**thinking)
        found["abacus, 0.26 ms, pipelined"] = abacus(pipelined=True, **thinking)
    return found


def gains(rows: Sequence[Row]) -> list[Row]:
    """Abacus over each baseline, by rule and load: ratios of the means over the pairs, less 1."""
    lines: list[Row] = []
    for rule in TARGETS:
        own = [row for row in rows if row["targets"] == rule]
        for load in LOADS:
            for other in BASELINES if own else ():
                line: Row = {"targets": rule, "load": load, "abacus over": other}
                lines.append(line | {figure: _gain(own, load, other, figure) for figure in GAINED})
    return lines


def _gain(rows: Sequence[Row], load: str, other: str, figure: str) -> float | None:
    """None over nothing: who misses none cannot be missed less."""
    base = mean(rows, load, other, figure)
    return round(mean(rows, load, ABACUS, figure) / base - 1, 4) if base else None


def main() -> int:
    """Fill the table, print what it comes to."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_targets", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR")
    add("--inputs", choices=INPUTS, default="all", help="what queries bring (%(default)s)")
    add("--scale", type=float, default=1.0, metavar="X", help="times the loads (%(default)s)")
    add("--of", type=int, default=len(SEEDS), metavar="N", help="traces (%(default)s)")
    add_budget(parser)
    args = parser.parse_args()
    files = {path.stem: path for path in scenario_files("abacus_pairs")}
    specs, seeds = policies(args.inputs), SEEDS[: args.of]

    def measure(key: Key) -> Row:
        pair, load, rule = key
        scenario = TARGETS[rule](INPUTS[args.inputs](read_scenario(files[pair], args.data)))
        found = figures(scenario, specs, args.scale * float(load), SECONDS, seeds)
        return {"pair": pair, "load": load, "targets": rule, "policies": found}

    keys = [(pair, load, rule) for pair in files for load in LOADS for rule in TARGETS]
    config = {"seconds": SECONDS, "seeds": seeds, "policies": list(specs), "scale": args.scale}
    name = "abacus_targets" if args.inputs == "all" else f"abacus_targets_{args.inputs}"
    table = Table(name, config, ("pair", "load", "targets"))
    done = fill_within(table, keys, measure, args.seconds)
    for rule in TARGETS:
        for load in LOADS:
            own = [r for r in table.rows if (r["targets"], r["load"]) == (rule, load)]
            if own:
                result_file.show(f"{rule}, {load} queries a second", by_policy(own, load))
    if done:
        result_file.show("What Abacus gains", gains(table.rows))
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
