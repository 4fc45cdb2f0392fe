"""VELTAIR (ASPLOS'22), figures of its parts on simulated machines: 5, 7, 11, 13 and 14.

``python -m bench veltair_figures --data DATA [--queries 3000]``. What each figure shows is our
reading of it. Times of ResNet-50 are published, all else is derived or stated (``veltair_gains``),
so that the tables say how policies differ, not what a CPU does. Rows are kept as they come; the
same command goes on where it was stopped.

- ``veltair_conflicts`` (5, 14): by granularity, how often a block starts on fewer cores than it
  needs, what adding them later costs, cores in use, and what a query's decisions take.
- ``veltair_kept_versions`` (7): the speed that is kept at each pressure, by number of versions.
- ``veltair_proxy`` (11): how far the time that a block is predicted to take is from what it takes,
  with the proxy and without it.
- ``veltair_latency`` (13): latency over that of a query alone; scheduling, compilation, both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from bench.veltair.gains import FOLDER, SCENARIOS
from bench.veltair.parts import conflict_row, kept_row, latency_row, proxy_row
from surplus.colocation import Scenario, read_scenario
from surplus.colocation.frame.clock import NS_PER_S

GRANULARITIES = ("layer_wise", "blocks_6", "blocks_11", "model_wise", "veltair_scheduling_only")
WAYS = ("veltair_scheduling_only", "veltair_compilation_only", "veltair")
LOADS = ("0.5", "0.8")
"""Of the load that the scenario's file has."""


class FigureTable(NamedTuple):
    """A table: the columns that tell its rows apart, their keys, how the rest of a row is made."""

    columns: tuple[str, ...]
    keys: list[Key]
    measure: Callable[[Key, Scenario], Row]


_LOADED: list[Key] = [(name, load) for name in SCENARIOS for load in LOADS]
FIGURES = {
    "veltair_conflicts": FigureTable(
        ("scenario", "load", "policy"),
        [(*key, policy) for key in _LOADED for policy in GRANULARITIES],
        lambda key, scenario: conflict_row(scenario, key[2]),
    ),
    "veltair_kept_versions": FigureTable(
        ("scenario", "load", "versions"),
        [("medium", "1", str(count)) for count in range(1, 6)],
        lambda key, scenario: kept_row(scenario, int(key[2])),
    ),
    "veltair_proxy": FigureTable(
        ("scenario", "load"),
        [key for key in _LOADED if key[0] != "resnet50"],
        lambda key, scenario: proxy_row(scenario),
    ),
    "veltair_latency": FigureTable(
        ("scenario", "load", "policy"),
        [(*key, policy) for key in _LOADED for policy in WAYS],
        lambda key, scenario: latency_row(scenario, key[2]),
    ),
}


def at_part(name: str, load: str, data: Path, queries: int) -> Scenario:
    """A scenario at a part of its load, as long as so many queries take to come."""
    scenario = read_scenario(FOLDER / f"{name}.toml", data).scaled(float(load))
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in scenario.tenants)
    return replace(scenario, duration_ns=round(queries / rate_per_s * NS_PER_S))


def main() -> int:
    """Fill the tables, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench veltair_figures", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DATA")
    add("--queries", type=int, default=3000, metavar="N", help="of a run (%(default)s)")
    add("--only", choices=FIGURES, help="one table (all)")
    add_budget(parser)
    args = parser.parse_args()
    done = True
    for name in [args.only] if args.only else FIGURES:
        figure = FIGURES[name]

        def measure(key: Key, figure: FigureTable = figure) -> Row:
            scenario = at_part(key[0], key[1], args.data, args.queries)
            own = dict(zip(figure.columns, key, strict=True))
            return own | figure.measure(key, scenario)

        table = Table(name, {"queries": args.queries}, figure.columns)
        done = fill_within(table, figure.keys, measure, args.seconds) and done
        result_file.show(f"{name} (simulated)", table.rows)
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
