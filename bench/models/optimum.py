"""How often placements of some 30 tasks are proven optimal within a minute, and how fast."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from surplus.milp import SolveParams, solve
from surplus.placement import Problem, validate
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception

TIME_LIMIT_S = 60.0
SOLVERS = "cpsat,highs"
SEEDS = "0-1"
DETECTOR = DetectorParams(backbone=5, level_tasks=1, branches=9, branch_tasks=2)


def problems(seed: int) -> Iterator[Problem]:
    """A detector of tiny branches on one and two CPU lanes, and an inception-like net."""
    yield detector(seed, DETECTOR)
    yield detector(seed, DETECTOR, MachineParams(cpu_lanes=2))
    yield inception(seed, blocks=4, width=4, depth=2)


def numbers(text: str) -> list[int]:
    """``0-4`` and ``0,2,7`` as numbers.

    Raises
    ------
    ValueError
        If it is neither.
    """
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(n) for n in text.split(",")]


def row(problem: Problem, seed: int, solver: str) -> Row:
    """Solve one problem; its plan has to pass the validator."""
    result = solve(problem, SolveParams(solver, TIME_LIMIT_S))
    assert result.placement is not None
    assert result.timeline is not None
    faults = validate(problem, result.placement, result.timeline)
    assert not faults, faults
    return {
        "graph": problem.name,
        "seed": seed,
        "tasks": len(problem.tasks),
        "CPU lanes": problem.devices[0].lanes,
        "solver": solver,
        "status": str(result.status),
        "gap %": 100 * (result.gap or 0.0),
        "seconds": result.runtime_s,
    }


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--solvers", default=SOLVERS, metavar="NAME,...", help="(%(default)s)")
    add("--seeds", default=SEEDS, metavar="A-B", help="of the random problems (%(default)s)")
    add("--anew", action="store_true", help="solve all again, not only what a stop left out")
    args = parser.parse_args()
    work: dict[Key, tuple[Problem, int, str]] = {
        (problem.name, str(seed), str(problem.devices[0].lanes), solver): (problem, seed, solver)
        for seed in numbers(args.seeds)
        for problem in problems(seed)
        for solver in args.solvers.split(",")
    }
    config = {
        "time_limit_s": TIME_LIMIT_S,
        "threads": SolveParams().threads,
        "seeds": args.seeds,
        "solvers": args.solvers,
    }
    columns = ("graph", "seed", "CPU lanes", "solver")
    rows = fill(
        Table("optimum", config, columns, anew=args.anew),
        list(work),
        lambda key: row(*work[key]),
    )
    result_file.show(f"Placements proven within {TIME_LIMIT_S:g} s", rows)


if __name__ == "__main__":
    main()
