"""``python -m bench abacus_ablations --data DIR``: what each part of Abacus is worth.

A row is a variant at 100 queries a second, with means over the 21 pairs, a trace of each,
judged as in ``abacus_pairs``. A decision is charged with the paper's 0.26 ms where a variant says
so. Rows are kept as they come; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.abacus.runs import FIGURES, abacus, figures, perfect, scenario_files
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import PolicySpec, policy_spec, read_scenario

SECONDS, SEEDS, LOAD = 20.0, (1,), 100.0
BASELINES = (
    "fcfs",
    "fcfs_expired",
    "fcfs_rounds",
    "sjf",
    "sjf_expired",
    "sjf_rounds",
    "edf_drop",
    "clockwork",
)
THINKING_NS = 260_000
MARGIN_NS = 3_000_000


def with_predictor(spec: PolicySpec, **options: Any) -> PolicySpec:
    """Add options of the predictor."""
    return replace(spec, predictor_options={**spec.predictor_options, **options})


def variants() -> dict[str, PolicySpec]:
    """What is compared."""
    return {
        "abacus": abacus(),
        "no overlap (EDF with its drop)": abacus(overlap=False),
        "no drop": abacus(drop=False),
        "neither": abacus(overlap=False, drop=False),
        "whole queries only": abacus(rounds=0),
        "one look inside a query": abacus(rounds=1),
        "one way": abacus(ways=1),
        "perfect predictor": perfect(),
        "linear predictor": abacus("linear"),
        "SVM predictor": abacus("svm"),
        "no predicted overlap": abacus(predictor="serial"),
        "inputs in order of urgency": with_predictor(abacus(), in_order=True),
        "whole queries alone by profile": with_predictor(abacus(), alone="profile"),
        "margin of 3 ms": abacus(margin_ns=MARGIN_NS),
        "both": with_predictor(abacus(margin_ns=MARGIN_NS), alone="profile"),
        "decisions take 0.26 ms": abacus(thinking_ns=THINKING_NS),
        "0.26 ms, pipelined": abacus(thinking_ns=THINKING_NS, pipelined=True),
        "0.26 ms, pipelined, not renewed": abacus(
            thinking_ns=THINKING_NS, pipelined=True, renew=False
        ),
        "pipelined": abacus(pipelined=True),
    } | {name: policy_spec(name) for name in BASELINES}


def main() -> int:
    """Fill the table and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench abacus_ablations", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    add_budget(parser)
    args = parser.parse_args()
    specs = variants()
    scenarios = [read_scenario(path, args.data) for path in scenario_files("abacus_pairs")]

    def measure(key: Key) -> Row:
        own = {key[0]: specs[key[0]]}
        found = [figures(s, own, LOAD, SECONDS, SEEDS)[key[0]] for s in scenarios]
        means = {name: statistics.mean(one[name] for one in found) for name in FIGURES}
        return {"variant": key[0]} | {name: round(mean, 4) for name, mean in means.items()}

    config = {"seconds": SECONDS, "seeds": SEEDS, "queries_per_s": LOAD}
    table = Table("abacus_ablations", config, ("variant",))
    if not fill_within(table, [(name,) for name in specs], measure, args.seconds):
        return 3
    result_file.show("Variants at 100 queries a second", table.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
