"""gpulet's applications by whole requests: all stages of one are in time, or it is lost.

``python -m bench gpulet_requests``. The highest rate of requests at which 99 % of the *requests*
are in time, beside that at which 99 % of the *queries* are (as in ``gpulet_capacity``, but that
stages of a request come together), and what share of the requests is in time there. Means over five
traces and the half widths of their 95 % intervals. Rows are kept as they come.

References
----------
gpulet (ATC'22), section 5: game and traffic, Fig. 12 and 13.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bench.gpulet.applications import AFTER, as_requests, requests_in_time
from bench.gpulet.capacity import (
    DOWN,
    PERCENTILE,
    PLANS,
    QUERIES,
    WITHIN,
    Held,
    noisy,
    over_seeds,
    spec_of,
)
from bench.infrastructure import result_file
from bench.infrastructure.interval import half_width
from bench.infrastructure.resumable import Row, Table, fill
from bench.infrastructure.traces import SEEDS, add_traces
from surplus.colocation import Scenario, simulate, summarise
from surplus.colocation.frame.clock import NS_PER_S


def shares(name: str, scenario: Scenario, policy: str, rate_per_s: float) -> tuple[float, float]:
    """Of the requests, and of the queries, that are in time at a rate of requests."""
    loaded = as_requests(name, scenario, rate_per_s)
    stages = len(scenario.tenants)
    loaded = replace(loaded, duration_ns=round(QUERIES / (rate_per_s * stages) * NS_PER_S))
    setting = loaded.setting()
    run = simulate(setting, spec_of(policy, PERCENTILE))
    total = summarise(run, setting.load, loaded.services, len(loaded.devices)).total
    return requests_in_time(run, setting.load), total.goodput


def held_by(name: str, which: int) -> Held:
    """Whether 99 % are: of the requests (0), or of the queries (1)."""
    return lambda scenario, policy, rate: shares(name, scenario, policy, rate)[which] >= WITHIN


def row(name: str, label: str, seeds: Sequence[int] = SEEDS) -> Row:
    """One planner on one application."""
    scenario, policy = noisy(name), PLANS[label]
    whole, single = (over_seeds(scenario, policy, seeds, held_by(name, k)) for k in (0, 1))
    there = [
        100 * shares(name, replace(scenario, seed=seed), policy, rate)[0]
        for seed, rate in zip(seeds, single, strict=True)
    ]
    return {
        "application": name,
        "planner": label,
        "requests / s": fmean(whole),
        "+-": half_width(whole),
        "requests / s, by queries": fmean(single),
        "+- by queries": half_width(single),
        "requests in time there %": fmean(there),
    }


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench gpulet_requests", description=__doc__)
    add_traces(parser)
    args = parser.parse_args()
    seeds = SEEDS[: args.of]
    config = {"within": WITHIN, "queries": QUERIES, "down": DOWN, "seeds": seeds}
    keys = [(name, label) for name in AFTER for label in PLANS]
    table = Table("gpulet_requests", config, ("application", "planner"), anew=args.anew)
    rows = fill(table, keys, lambda key: row(key[0], key[1], seeds))
    result_file.show("Requests a second of which 99 % are in time", rows)


if __name__ == "__main__":
    main()
