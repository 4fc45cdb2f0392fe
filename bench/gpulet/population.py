"""How many of gpulet's 19,682 scenarios each planner finds room for, and how fast.

References
----------
gpulet (ATC'22), sections 3.2 and 5.2: nine models at 0, 100 or 200 queries a second on four GPUs;
5,772 with SBP, all with SBP on halves, 520 fewer with gpulet+int than with the ideal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Row, Table, fill
from surplus.colocation import read_scenario
from surplus.colocation.frame.planner import PLANNERS, Demand

MODELS = Path(__file__).parents[1] / "configs/colocation/gpulet/models.toml"
RATES_PER_S = (0.0, 100.0, 200.0)
PLANS: dict[str, tuple[str, dict[str, Any]]] = {
    "SBP": ("squishy", {}),
    "SBP 50/50": ("squishy", {"halves": True}),
    "Nexus": ("nexus", {}),
    "greedy best fit": ("greedy_best_fit", {}),
    "gpulet": ("gpulet", {"interference": False}),
    "gpulet+int, Algorithm 1 once": ("gpulet", {"retry": False}),
    "gpulet+int": ("gpulet", {}),
    "ideal+int": ("gpulet_ideal", {}),
}
PAPER = {"SBP": 5772, "SBP 50/50": 19682}


def population(models: Demand, scale: float = 1.0) -> Iterator[Demand]:
    """All combinations of rates but the one without any."""
    for rates in product(RATES_PER_S, repeat=len(models.services)):
        if any(rates):
            yield replace(models, rates_per_s=tuple(rate * scale for rate in rates))


def row(name: str, models: Demand, scale: float, every: int) -> Row:
    """Plan for each scenario; the tables of profiles are made once, as when serving.

    Times are those of the thread on its core, as others share the machine.
    """
    planner_name, options = PLANS[name]
    planner = PLANNERS.make(planner_name, **options)
    planner.plan(models)
    took_ns, placed = [], 0
    for demand in islice(population(models, scale), 0, None, every):
        began_ns = time.thread_time_ns()
        plan = planner.plan(demand)
        took_ns.append(time.thread_time_ns() - began_ns)
        placed += not plan.shortfalls
    return {
        "planner": name,
        "scale": scale,
        "scenarios": len(took_ns),
        "schedulable": placed,
        "share": placed / len(took_ns),
        "paper": PAPER.get(name, "") if scale == 1.0 else "",
        "mean ms of a core": float(np.mean(took_ns)) / 1e6,
        "p99 ms": float(np.percentile(took_ns, 99)) / 1e6,
        "longest ms": max(took_ns) / 1e6,
    }


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--every", type=int, default=1, metavar="N", help="each N-th scenario (%(default)s)")
    add("--scales", default="1,1.6", metavar="X,...", help="of the rates (%(default)s)")
    add("--anew", action="store_true", help="run all again, not only what a stop left out")
    args = parser.parse_args()
    models = read_scenario(MODELS).demand()
    scales = [float(scale) for scale in args.scales.split(",")]
    config = {"rates_per_s": RATES_PER_S, "devices": 4, "every": args.every}
    rows = fill(
        Table("gpulet_population", config, ("planner", "scale"), anew=args.anew),
        [(name, str(scale)) for scale in scales for name in PLANS],
        lambda key: row(key[0], models, float(key[1]), args.every),
    )
    result_file.show("Schedulable scenarios of gpulet's population", rows)


if __name__ == "__main__":
    main()
