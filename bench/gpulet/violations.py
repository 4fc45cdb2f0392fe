"""What becomes of what gpulet's planners promise, with and without a belief in interference.

``python -m bench gpulet_violations``: every scenario at 80, 90 and 100 % of the highest rate that a
planner has room for, planned for the mean rates, served under the true interference: misses in
percent over five traces, with the half widths of their 95 % intervals.

References
----------
gpulet (ATC'22), Fig. 14: violations of gpulet and gpulet+int, as we read it; the paper finds that
the belief keeps the target where its absence breaks it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bench.gpulet.capacity import (
    PLANS,
    QUERIES,
    SCENARIOS,
    at_rate,
    most_promised,
    noisy,
    spec_of,
)
from bench.infrastructure import result_file
from bench.infrastructure.interval import half_width
from bench.infrastructure.resumable import Row, Table, fill
from bench.infrastructure.traces import SEEDS, add_traces
from surplus.colocation import Scenario, simulate, summarise

PARTS = (0.8, 0.9, 1.0)
"""Of the promised rate."""


def misses_percent(scenario: Scenario, policy: str, rate_per_s: float) -> float:
    """Of all queries, when each service has a rate; drops counted."""
    loaded = at_rate(scenario, rate_per_s)
    setting = loaded.setting()
    run = simulate(setting, spec_of(policy, 0.5))
    summary = summarise(run, setting.load, loaded.services, len(loaded.devices))
    return 100 * summary.total.violations


def row(name: str, label: str, seeds: Sequence[int] = SEEDS) -> Row:
    """One planner on one scenario."""
    scenario, policy = noisy(name), PLANS[label]
    promised_per_s = most_promised(scenario, policy)
    found: Row = {"scenario": name, "planner": label, "promised / s": promised_per_s}
    for part in PARTS:
        rate_per_s = part * promised_per_s
        missed = [
            misses_percent(replace(scenario, seed=seed), policy, rate_per_s) for seed in seeds
        ]
        percent = f"{100 * part:.0f} %"
        found |= {f"misses % at {percent}": fmean(missed), f"+- at {percent}": half_width(missed)}
    return found


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench gpulet_violations", description=__doc__)
    add_traces(parser)
    args = parser.parse_args()
    seeds = SEEDS[: args.of]
    config = {"queries": QUERIES, "seeds": seeds, "parts": PARTS}
    keys = [(name, label) for name in SCENARIOS for label in PLANS]
    table = Table("gpulet_violations", config, ("scenario", "planner"), anew=args.anew)
    rows = fill(table, keys, lambda key: row(key[0], key[1], seeds))
    result_file.show("Misses at the promised rates", rows)


if __name__ == "__main__":
    main()
