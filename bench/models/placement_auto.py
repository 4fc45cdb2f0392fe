"""``auto`` and ``anneal`` over what solvers prove: all families of problems, by the bars of both.

The bound of a problem is the solver's after ``--solve`` seconds, which is below the optimum where
that is not proven: the ratios are at least the true ones. ``auto``'s time is the CPU time of its
thread, the problem read anew; ``anneal`` goes on from ``auto``'s plan, on every core. ``--bounds``
measures both anew over the bounds that are stored.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import thread_time_ns
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus.milp import SolveParams, solve
from surplus.placement import Placement, Problem, check, check_bound, make_policy, simulate
from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.families.registry import FAMILIES, family_problem
from surplus.placement.graph_grower import MachineParams

TABLE, BARS = "placement_auto", "placement_auto_bars"
MACHINES = {
    "1+1": MachineParams(),
    "2+2": MachineParams(cpu_lanes=2, gpu_lanes=2, occupancy_ns=2_000),
}
"""Lanes of the CPU and of the GPU."""

TASKS = "60,200,500,1000,3000"
LARGE, LARGEST = 1_000, 3_000
SOLVE_S, ANNEAL_S = 60.0, 10.0
REPEATS = 3

GAPS = {
    "detector": {60: 0.0, 200: 1.0, 500: 1.25, 1_000: 2.5, 3_000: 4.5},
    "inception": {60: 0.0, 200: 0.0, 500: 0.0, 1_000: 0.0, 3_000: 1.0},
}
"""By family and size: what the solver's plan may be above its bound, in %."""


@dataclass(frozen=True)
class Case:
    """A problem by what makes it."""

    family: str
    tasks: int
    lanes: str
    seed: int

    @property
    def key(self) -> Key:
        """Its place in the table."""
        return self.family, str(self.tasks), self.lanes, str(self.seed)

    def problem(self) -> Problem:
        """The same each time."""
        return family_problem(self.family, self.tasks, self.seed, MACHINES[self.lanes])


def cases(families: Sequence[str], sizes: Sequence[int], seeds: int) -> Iterator[Case]:
    """All that the families have problems of, the small ones first."""
    for tasks in sizes:
        for family in families:
            if tasks >= FAMILIES[family].least:
                for lanes in MACHINES:
                    for seed in range(1, seeds + 1):
                        yield Case(family, tasks, lanes, seed)


def row(case: Case, solve_s: float, anneal_s: float, known: Row | None = None) -> Row:
    """Bound it, or take what is known, place it with both, have the validator judge both plans."""
    problem = case.problem()
    bound_ns, gap = (
        _bounded(problem, solve_s)
        if known is None
        else (round(1e3 * known["bound us"]), known["solver gap %"])
    )
    placed, auto_ms = timed_auto(problem)
    annealed = improved(problem, placed, AnnealParams(time_s=anneal_s, threads=0))
    auto_ns, anneal_ns = (judged_ns(problem, plan, bound_ns) for plan in (placed, annealed))
    return {
        "family": case.family,
        "tasks": case.tasks,
        "lanes": case.lanes,
        "seed": case.seed,
        "bound us": bound_ns / 1e3,
        "solver gap %": gap,
        "auto": over(auto_ns, bound_ns),
        "auto ms": auto_ms,
        "anneal": over(anneal_ns, bound_ns),
    }


def _bounded(problem: Problem, solve_s: float) -> tuple[int, float]:
    """What the solver proves, and how far it is below its plan, %."""
    solved = solve(problem, SolveParams(time_limit_s=solve_s))
    return solved.bound_ns, 100 * (solved.gap or 0.0)


def stored(columns: Sequence[str], config: Mapping[str, Any]) -> dict[Key, Row]:
    """Rows of the last results, if those were measured likewise: bounds take the longest, and stay.

    Raises
    ------
    SystemExit
        If there are none.
    """
    document = result_file.read_document(result_file.path_of(TABLE))
    if document["config"] != config:
        sys.exit(f"{TABLE}: the stored bounds are of {document['config']}, not of {config}")
    rows = result_file.rows_of(document)
    return {tuple(str(row[column]) for column in columns): row for row in rows}


def timed_auto(problem: Problem) -> tuple[Placement, float]:
    """Its plan, and the median of milliseconds of a problem never seen before."""
    times_ns = []
    for turn in range(REPEATS):
        fresh = replace(problem, name=f"{problem.name} {turn}")
        began_ns = thread_time_ns()
        placed = make_policy("auto").place(fresh)
        times_ns.append(thread_time_ns() - began_ns)
    return placed, median(times_ns) / 1e6


def judged_ns(problem: Problem, placement: Placement, bound_ns: int) -> int:
    """Simulated makespan of a plan that breaks no rule and no bound."""
    timeline = simulate(problem, placement)
    check(problem, placement, timeline)
    check_bound(bound_ns, timeline.makespan_ns, f"{problem.name}, {placement.policy}")
    return timeline.makespan_ns


def over(makespan_ns: int, bound_ns: int) -> float:
    """1 where both are nothing."""
    return makespan_ns / bound_ns if bound_ns else 1.0


def bars(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What must hold, and what was measured of it; nothing of what was not."""
    lines = [
        _bar("auto over the bound, median", 1.05, rows, "auto", median),
        _bar("auto over the bound, worst", 1.10, rows, "auto", max),
        _bar("auto ms, 1,000 tasks, worst", 10, _of(rows, LARGE), "auto ms", max),
        _bar("auto ms, 3,000 tasks, worst", 40, _of(rows, LARGEST), "auto ms", max),
        _bar(
            "anneal, detectors up to 1,000, worst",
            1.02,
            [r for r in _to(rows, LARGE) if r["family"] == "detector"],
            "anneal",
            max,
        ),
        _bar("anneal, all up to 1,000, worst", 1.05, _to(rows, LARGE), "anneal", max),
        _bar("anneal, 3,000 tasks, worst", 1.08, _of(rows, LARGEST), "anneal", max),
    ]
    lines += [
        _bar(
            f"solver's gap %, {family}, {tasks:,} tasks, worst",
            bar,
            [r for r in _of(rows, tasks) if r["family"] == family],
            "solver gap %",
            max,
        )
        for family, gaps in GAPS.items()
        for tasks, bar in gaps.items()
    ]
    return [line for line in lines if line is not None]


def _of(rows: Sequence[Row], tasks: int) -> list[Row]:
    return [row for row in rows if row["tasks"] == tasks]


def _to(rows: Sequence[Row], tasks: int) -> list[Row]:
    return [row for row in rows if row["tasks"] <= tasks]


def _bar(
    what: str,
    bar: float,
    rows: Sequence[Row],
    column: str,
    fold: Callable[[list[float]], float],
) -> dict[str, Any] | None:
    if not rows:
        return None
    found = fold([float(row[column]) for row in rows])
    held = sum(float(row[column]) <= bar for row in rows)
    return {
        "what": what,
        "bar": bar,
        "measured": found,
        "problems within the bar": f"{held} of {len(rows)}",
        "holds": "yes" if found <= bar else "no",
    }


def main() -> None:
    """Measure row by row, and say which bars hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--families", default=",".join(FAMILIES), metavar="F,...", help="(%(default)s)")
    add("--tasks", default=TASKS, metavar="N,...", help="(%(default)s)")
    add("--seeds", type=int, default=1, metavar="N", help="of each kind (%(default)s)")
    add("--solve", type=float, default=SOLVE_S, metavar="S", help="for each bound (%(default)g)")
    add("--anneal", type=float, default=ANNEAL_S, metavar="S", help="(%(default)g)")
    add("--bounds", action="store_true", help="measure with the bounds and gaps that are stored")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    args = parser.parse_args()
    sizes = [int(number) for number in args.tasks.split(",")]
    work = {case.key: case for case in cases(args.families.split(","), sizes, args.seeds)}
    config = {"solve_s": args.solve, "anneal_s": args.anneal, "repeats": REPEATS}
    config |= {"families": args.families, "tasks": args.tasks, "seeds": args.seeds}
    columns = ("family", "tasks", "lanes", "seed")
    known = stored(columns, config) if args.bounds else {}
    table = Table(TABLE, config, columns, anew=args.anew)
    seconds = (args.solve, args.anneal)
    rows = fill(table, list(work), lambda key: row(work[key], *seconds, known.get(key)))
    found = bars(rows)
    result_file.show("What must hold", found)
    result_file.write(BARS, config, found)


if __name__ == "__main__":
    main()
