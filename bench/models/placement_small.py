"""``auto`` over the proven optimum on 10,000 problems of eight tasks, random and adversarial ones.

Half of them are random. The other half is what a search for worst cases looks at on its way
(placement/adversary): each block climbs from a random problem to ever worse ones by ``--steps``
changes. Where no bound meets ``auto``'s plan the solver proves what is. Its optimum may let a
device wait on purpose, which no devices and priorities do: plans above the bar are held against the
best of all of those instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.models.placement_auto import over
from surplus.milp import SolveParams
from surplus.milp.search import Search
from surplus.milp.solvers.pool import SolverPool
from surplus.placement import Policy, Problem, check_bound, lower_bounds, make_policy
from surplus.placement.adversary.exhaustive import best_of_all_ns, best_of_placements_ns
from surplus.placement.adversary.genome import problem_of_genome, random_genome
from surplus.placement.adversary.search import SearchParams, climb
from surplus.placement.evaluator import makespan_ns

TABLE, BARS = "placement_small", "placement_small_bars"
TASKS = 8
BLOCKS, STEPS = 10, 499
SOLVE_S = 20.0
MOST = 1.2
"""What ``auto``'s plan may be of the optimum."""


@cache
def auto() -> Policy:
    """The default policy."""
    return make_policy("auto")


def placed_ns(problem: Problem) -> int:
    """What ``auto``'s plan comes to."""
    return makespan_ns(problem, auto().place(problem))


def random_ones(random: Random, steps: int) -> list[Problem]:
    """As the adversary begins with."""
    genomes = (random_genome(random, TASKS) for _ in range(steps + 1))
    return [problem_of_genome(genome, f"random {number}") for number, genome in enumerate(genomes)]


def climbed_ones(random: Random, steps: int) -> list[Problem]:
    """All that one climb looks at."""
    seen: list[Problem] = []

    def ratio(problem: Problem) -> float:
        seen.append(problem)
        return placed_ns(problem) / best_of_placements_ns(problem)

    climb(random, SearchParams(steps=steps, least_tasks=TASKS, most_tasks=TASKS), ratio)
    return seen


KINDS: dict[str, Callable[[Random, int], list[Problem]]] = {
    "random": random_ones,
    "adversarial": climbed_ones,
}


def row(kind: str, block: str, steps: int) -> Row:
    """Place and prove each problem of a block."""
    problems = KINDS[kind](Random(f"{kind} {block}"), steps)
    found = [over_the_optimum(problem) for problem in problems]
    ratios = [ratio for ratio, _ in found]
    far = [problem for problem, ratio in zip(problems, ratios, strict=True) if ratio > MOST]
    near = [ratio for ratio in ratios if ratio <= MOST]
    return {
        "problems": kind,
        "block": int(block),
        "how many": len(problems),
        "proven": sum(proven for _, proven in found),
        "at the optimum": sum(ratio == 1.0 for ratio in ratios),
        "mean": sum(ratios) / len(ratios),
        "worst": max(ratios),
        "worst that waits for nothing": max([*near, *map(over_any_order, far)]),
    }


def over_any_order(problem: Problem) -> float:
    """The ratio to the best of all devices and priorities."""
    return placed_ns(problem) / best_of_all_ns(problem)


def over_the_optimum(problem: Problem) -> tuple[float, bool]:
    """The ratio to the best bound, and whether that is the optimum."""
    found_ns = placed_ns(problem)
    bound_ns, proven = lower_bounds(problem).makespan_ns, True
    if bound_ns < found_ns:
        bound_ns, proven = solved(problem)
    check_bound(bound_ns, found_ns, problem.name)
    return over(found_ns, bound_ns), proven


def solved(problem: Problem) -> tuple[int, bool]:
    """The solver's bound, and whether its plan meets it."""
    search = Search(problem, SolveParams("cpsat", SOLVE_S, threads=1), ask=solvers().run)
    search.prepare()
    search.run()
    result = search.result()
    return result.bound_ns, result.gap == 0.0


@cache
def solvers() -> SolverPool:
    """A process that does job after job: its start would take longer than most of them."""
    return SolverPool(1)


def bars(rows: list[Row]) -> list[dict[str, Any]]:
    """What must hold, by kind."""
    lines = []
    for kind in KINDS:
        of_kind = [row for row in rows if row["problems"] == kind]
        if not of_kind:
            continue
        count = sum(row["how many"] for row in of_kind)
        worst, dispatched = (
            max(row[column] for row in of_kind)
            for column in ("worst", "worst that waits for nothing")
        )
        lines.append(
            {
                "problems": kind,
                "how many": count,
                "proven": sum(row["proven"] for row in of_kind),
                "at the optimum %": 100 * sum(row["at the optimum"] for row in of_kind) / count,
                "mean over the optimum": sum(r["mean"] * r["how many"] for r in of_kind) / count,
                "worst": worst,
                "worst that waits for nothing": dispatched,
                "bar": MOST,
                "holds": "yes" if dispatched <= MOST else "no",
            }
        )
    return lines


def main() -> None:
    """Measure block by block, and say whether the bar holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--blocks", type=int, default=BLOCKS, metavar="N", help="of each kind (%(default)s)")
    add("--steps", type=int, default=STEPS, metavar="N", help="of a block (%(default)s)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    args = parser.parse_args()
    keys: list[Key] = [(kind, str(block)) for block in range(args.blocks) for kind in KINDS]
    config = {"tasks": TASKS, "blocks": args.blocks, "steps": args.steps, "solve_s": SOLVE_S}
    table = Table(TABLE, config, ("problems", "block"), anew=args.anew)
    try:
        rows = fill(table, keys, lambda key: row(key[0], key[1], args.steps))
    finally:
        solvers().close()
    found = bars(rows)
    result_file.show("What must hold", found)
    result_file.write(BARS, config, found)


if __name__ == "__main__":
    main()
