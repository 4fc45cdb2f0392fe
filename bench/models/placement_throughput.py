"""The least load of the busiest resource: how near the bound in a time, and whether it is attained.

One problem after the other, the solver with both cores, ``--time`` seconds for each in all: known
placements, the solver, the periodic schedule.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from bench.infrastructure import result_file
from surplus.milp.params import SolveParams
from surplus.milp.throughput.search import solve_throughput
from surplus.placement import Problem, make_policy
from surplus.placement.occupancy import Occupancy
from surplus.placement.random_graphs import DetectorParams, detector, inception

SEED = 1
TIME_S = 10.0
_DETECTORS = {60: (12, 1, 20, 2), 200: (30, 4, 25, 6), 500: (50, 6, 60, 7), 1000: (88, 6, 80, 11)}
_DETECTORS |= {3000: (88, 6, 80, 36)}
"""By tasks, about: ``DetectorParams``."""
_INCEPTIONS = {60: 6, 200: 22, 500: 55, 1000: 110, 3000: 331}
"""By tasks, about: blocks."""


def problems(largest: int) -> Iterator[Problem]:
    """Of both families, the smaller ones first."""
    for tasks, sizes in _DETECTORS.items():
        if tasks <= largest:
            yield detector(SEED, DetectorParams(*sizes))
    for tasks, blocks in _INCEPTIONS.items():
        if tasks <= largest:
            yield inception(SEED, blocks)


def row(problem: Problem, time_s: float) -> dict[str, Any]:
    """Solve one."""
    balance = make_policy("balance").place(problem)
    found = solve_throughput(problem, SolveParams(time_limit_s=time_s))
    schedule = found.schedule
    assert schedule is not None
    assert found.gap is not None
    assert found.load_ns is not None
    return {
        "problem": problem.name,
        "load us": found.load_ns / 1e3,
        "gap %": 100 * found.gap,
        "`balance` over the bound": Occupancy(problem, balance.device_of).load()[0]
        / found.bound_ns,
        "interval over the load": schedule.interval_ns / found.load_ns,
        "latency over the interval": schedule.latency_ns / schedule.interval_ns,
        "queries in flight": schedule.in_flight,
        "time s": found.runtime_s,
        "status": str(found.status),
    }


def main() -> None:
    """Solve all; store what took the whole time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=TIME_S, help="for each, in seconds")
    parser.add_argument("--largest", type=int, default=3000, metavar="TASKS")
    args = parser.parse_args()
    rows = [row(problem, args.time) for problem in problems(args.largest)]
    result_file.show("Throughput", rows)
    if (args.time, args.largest) == (TIME_S, 3000):
        result_file.write("placement_throughput", {"seed": SEED, "time_s": TIME_S}, rows)


if __name__ == "__main__":
    main()
