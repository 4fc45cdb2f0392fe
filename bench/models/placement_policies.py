"""Each placement policy over families of graphs: its makespan over the best bound, and its time.

By the CPU time of the thread that places; the native evaluator's reading of the problem counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from time import thread_time_ns

from bench.infrastructure import result_file
from surplus.milp import SolveParams, solve
from surplus.placement import Problem, lower_bounds, make_policy, policy_names, simulate, validate
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception

QUICK, ALL = (60, 200, 1_000), (60, 200, 500, 1_000, 3_000)
MACHINES = (MachineParams(), MachineParams(cpu_lanes=2, gpu_lanes=2, occupancy_ns=2_000))
REPEATS = 3


def problems(sizes: tuple[int, ...], seed: int) -> Iterator[Problem]:
    """A detector-like and an inception-like graph of each size, on one and on two lanes each."""
    for tasks in sizes:
        for machine in MACHINES:
            yield detector(seed, sized_detector(tasks), machine)
            yield inception(seed, max(1, tasks // 9), machine=machine)


def sized_detector(tasks: int) -> DetectorParams:
    """Of about so many tasks: a fifth in the backbone and the levels, 80 branches at most."""
    heavy = tasks // 10
    branches = min(80, max(4, tasks // 12))
    return DetectorParams(
        backbone=max(5, heavy),
        level_tasks=max(1, heavy // 5),
        branches=branches,
        branch_tasks=max(1, (tasks - 2 * heavy) // branches),
    )


def bound_ns(problem: Problem, solve_s: float) -> int:
    """The best bound: that of the graph, or, given time, the solver's."""
    known = lower_bounds(problem).makespan_ns
    if solve_s <= 0:
        return known
    return max(known, solve(problem, SolveParams(time_limit_s=solve_s)).bound_ns)


def row(problem: Problem, seed: int, names: list[str], solve_s: float) -> dict[str, object]:
    """Place with each policy; each plan has to pass the validator."""
    best_ns = bound_ns(problem, solve_s)
    found: dict[str, object] = {
        "graph": problem.name,
        "seed": seed,
        "lanes": "+".join(str(device.lanes) for device in problem.devices),
    }
    for name in names:
        ratio, time_ms = judged(problem, name, best_ns)
        found |= {name: ratio, f"{name} ms": time_ms}
    return found


def judged(problem: Problem, name: str, best_ns: int) -> tuple[float, float]:
    """Makespan over the bound, and the median of milliseconds of a problem never seen before."""
    times_ns = []
    for turn in range(REPEATS):
        fresh = replace(problem, name=f"{problem.name} {turn}")
        start_ns = thread_time_ns()
        placement = make_policy(name).place(fresh)
        times_ns.append(thread_time_ns() - start_ns)
    timeline = simulate(problem, placement)
    faults = validate(problem, placement, timeline)
    assert not faults, faults
    return timeline.makespan_ns / best_ns, median(times_ns) / 1e6


def summary(rows: list[dict[str, object]], names: list[str]) -> list[dict[str, object]]:
    """Over all graphs."""
    found: list[dict[str, object]] = []
    for name in names:
        ratios, times = ([float(str(row[key])) for row in rows] for key in (name, f"{name} ms"))
        found.append(
            {
                "policy": name,
                "median over bound": median(ratios),
                "worst": max(ratios),
                "median ms": median(times),
                "longest ms": max(times),
            }
        )
    return found


def main() -> None:
    """Run, print, and store if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    names = ",".join(policy_names())
    add("--policies", default=names, metavar="NAME,...", help="(%(default)s)")
    add("--quick", action="store_true", help="up to 1,000 tasks instead of 3,000")
    add("--seeds", type=int, default=2, metavar="N", help="graphs of each kind (%(default)s)")
    add("--solve", type=float, default=0.0, metavar="S", help="raise bounds for so many seconds")
    add("--store", action="store_true", help="store the tables in bench/results")
    args = parser.parse_args()
    policies = args.policies.split(",")
    sizes = QUICK if args.quick else ALL
    rows = [
        row(problem, seed, policies, args.solve)
        for seed in range(1, args.seeds + 1)
        for problem in problems(sizes, seed)
    ]
    sums = summary(rows, policies)
    result_file.show("Makespan over the best bound", rows)
    result_file.show("Policies", sums)
    if args.store:
        config = {"sizes": sizes, "seeds": args.seeds, "solve_s": args.solve}
        result_file.write("placement_policies", config, rows)
        result_file.write("placement_policies_sums", config, sums)


if __name__ == "__main__":
    main()
