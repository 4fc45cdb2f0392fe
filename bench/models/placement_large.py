"""``auto`` and a bound for problems of 100,000 tasks of each family: time, memory, distance.

Each in a process of its own, whose most memory counts; the problem is made in it, and how long
that takes is not counted.
"""

from __future__ import annotations

import argparse
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Any

from bench.infrastructure import result_file
from bench.models.placement_auto import over
from surplus.placement import check_bound, lower_bounds, make_policy
from surplus.placement.evaluator import makespan_ns
from surplus.placement.families.registry import FAMILIES, family_problem

TABLE, BARS = "placement_large", "placement_large_bars"
TASKS, SEED = 100_000, 1
MOST_S, MOST_GIB = 10.0, 4.0
_KIB_PER_GIB = 1 << 20


def row(family: str, tasks: int) -> dict[str, Any]:
    """Place one and bound it."""
    problem = family_problem(family, tasks, SEED)
    began_s = perf_counter()
    placed = make_policy("auto").place(problem)
    placed_s = perf_counter()
    bound_ns = lower_bounds(problem).makespan_ns
    bounded_s = perf_counter()
    found_ns = makespan_ns(problem, placed)
    check_bound(bound_ns, found_ns, problem.name)
    return {
        "family": family,
        "tasks": len(problem.tasks),
        "auto s": placed_s - began_s,
        "bound s": bounded_s - placed_s,
        "together s": bounded_s - began_s,
        "memory GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_PER_GIB,
        "auto over the bound": over(found_ns, bound_ns),
    }


def bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst of all families."""
    lines = []
    for column, bar in (("together s", MOST_S), ("memory GiB", MOST_GIB)):
        worst = max(row[column] for row in rows)
        holds = "yes" if worst <= bar else "no"
        lines.append({"what": f"{column}, worst", "bar": bar, "measured": worst, "holds": holds})
    return lines


def main() -> None:
    """Measure family after family."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--families", default=",".join(FAMILIES), metavar="F,...", help="(%(default)s)")
    add("--tasks", type=int, default=TASKS, metavar="N", help="(%(default)s)")
    args = parser.parse_args()
    rows = []
    for family in args.families.split(","):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            rows.append(alone.submit(row, family, args.tasks).result())
    config = {"tasks": args.tasks, "seed": SEED}
    result_file.show(TABLE, rows)
    result_file.write(TABLE, config, rows)
    found = bars(rows)
    result_file.show("What must hold", found)
    result_file.write(BARS, config, found)


if __name__ == "__main__":
    main()
