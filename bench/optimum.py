"""How often placements of some 30 tasks are proven optimal within a minute, and how fast.

``python -m bench.optimum [SEEDS [SOLVER ...]]``: two seeds by CP-SAT and HiGHS by default.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench import result_file
from milp import SolveParams, solve
from placement import Problem, validate
from placement.random_graphs import DetectorParams, MachineParams, detector, inception

TIME_LIMIT_S = 60.0
DEFAULT_SOLVERS = ("cpsat", "highs")
DETECTOR = DetectorParams(backbone=5, level_tasks=1, branches=9, branch_tasks=2)


def problems(seed: int) -> Iterator[Problem]:
    """A detector of tiny branches on one and two CPU lanes, and an inception-like net."""
    yield detector(seed, DETECTOR)
    yield detector(seed, DETECTOR, MachineParams(cpu_lanes=2))
    yield inception(seed, blocks=4, width=4, depth=2)


def row(problem: Problem, seed: int, solver: str) -> dict[str, object]:
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
    """Run and store the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    solvers = tuple(sys.argv[2:]) or DEFAULT_SOLVERS
    rows = [
        row(problem, seed, solver)
        for seed in range(seeds)
        for problem in problems(seed)
        for solver in solvers
    ]
    result_file.show(f"Placements proven within {TIME_LIMIT_S:g} s", rows)
    config = {"time_limit_s": TIME_LIMIT_S, "threads": SolveParams().threads, "seeds": seeds}
    result_file.write("optimum", config, rows)


if __name__ == "__main__":
    main()
