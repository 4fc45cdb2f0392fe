"""A model too large for one GPU, on two: how far plans are from what no plan is below.

Two GPUs of the detectors' stored profiles (derived, no GPU took part) and one lane of the CPU. Each
GPU holds a part of what the whole model needs on one: its constants, and what of its tensors is
there at once. The solver's bound knows only that constants, and what a task reads and makes, have
to fit; "room for all" is what the default policy finds where nothing is limited. "As segments" is
the best cut that fits, as it is predicted: what would be run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.profiles import DETECTORS
from bench.sir.several_gpus import costs_on, graph_of
from surplus.engine.planning.candidates import all_candidates
from surplus.engine.planning.stages import Costs, place
from surplus.milp import SolveParams, solve
from surplus.placement import Placement, Problem, check, make_policy, simulate
from surplus.placement.memory import simulated_use
from surplus.placement.ordering import planned

TABLE = "sir_too_large"
GPUS = 2
HELD = ("0.6", "0.7")
"""Parts of what one GPU would need."""
SOLVE_S = 60.0
_SOLVER, _AUTO, _FREE = "solver", "auto", "auto, room for all"
ROWS = (_SOLVER, _AUTO, _FREE)
"""The solver is first, since the others are held against its bound."""
_MIB = 1 << 20


def whole_bytes(model: str) -> int:
    """What a GPU has to hold for a whole model."""
    problem = costs_on(model, 1, 1).problem
    everywhere = [
        max(d for d, service_ns in enumerate(task.service_ns) if service_ns is not None)
        for task in problem.tasks
    ]
    use = simulated_use(problem, planned(problem, everywhere, "single"))
    return use[problem.devices[-1].memory].peak_bytes


def limited(problem: Problem, memory_bytes: int) -> Problem:
    """The problem with GPUs that hold so much."""
    host, *gpus = problem.devices
    return replace(
        problem, devices=(host, *(replace(gpu, memory_bytes=memory_bytes) for gpu in gpus))
    )


def measured(key: Key, rows: Sequence[Row], solve_s: float) -> Row:
    """One way to a plan; ``rows`` has the solver's."""
    model, held, name = key
    costs = costs_on(model, 1, GPUS)
    memory_bytes = round(float(held) * whole_bytes(model))
    if name != _FREE:
        costs = _on(costs, limited(costs.problem, memory_bytes))
    problem, cut_ms = costs.problem, None
    began_s = perf_counter()
    if name == _SOLVER:
        found = solve(problem, SolveParams(time_limit_s=solve_s))
        assert found.placement is not None
        assert found.makespan_ns is not None
        plan, makespan_ns, bound_ms = found.placement, found.makespan_ns, found.bound_ns / 1e6
    else:
        plan = make_policy(_AUTO).place(problem)
        makespan_ns = simulate(problem, plan).makespan_ns
        (best,) = (
            r for r in rows if (r["model"], r["GPU holds"], r["plan"]) == (*key[:2], _SOLVER)
        )
        bound_ms = best["bound ms"]
    took_s = perf_counter() - began_s
    if name != _SOLVER:
        cut_ms = _best_cut_ms(model, costs, plan)
    return {
        "model": model,
        "GPU holds": held,
        "MiB": memory_bytes / _MIB,
        "plan": name,
        "makespan ms": makespan_ns / 1e6,
        "bound ms": bound_ms,
        "above the bound %": 100 * (makespan_ns / 1e6 / bound_ms - 1),
        **_needs(problem, plan),
        "seconds": took_s,
        "as segments ms": cut_ms,
    }


def _on(costs: Costs, problem: Problem) -> Costs:
    return replace(costs, problem=problem, service=replace(costs.service, problem=problem))


def _best_cut_ms(model: str, costs: Costs, plan: Placement) -> float:
    found = all_candidates(graph_of(model), costs, plan, lambda again: place(again, _AUTO))
    return min(candidate.predicted.makespan_ns for candidate in found) / 1e6


def _needs(problem: Problem, plan: Placement) -> dict[str, Any]:
    """What a plan takes of each GPU, checked."""
    check(problem, plan, simulate(problem, plan))
    use = simulated_use(problem, plan)
    sizes = (use[device.memory].peak_bytes / _MIB for device in problem.devices[1:])
    return {f"MiB on GPU {number}": size for number, size in enumerate(sizes)}


def main() -> None:
    """Fill the table, and show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join(DETECTORS), metavar="M,...", help="(%(default)s)")
    add("--held", default=",".join(HELD), metavar="PART,...", help="each GPU (%(default)s)")
    add("--solve", type=float, default=SOLVE_S, metavar="S", help="for each (%(default)g)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    args = parser.parse_args()
    keys = [
        (model, held, name)
        for model in args.models.split(",")
        for held in args.held.split(",")
        for name in ROWS
    ]
    config = {"models": args.models, "held": args.held, "solve_s": args.solve}
    table = Table(TABLE, config, ("model", "GPU holds", "plan"), anew=args.anew)
    rows = fill(table, keys, lambda key: measured(key, table.rows, args.solve))
    result_file.show("Too large for one GPU (simulated, derived GPU profile)", rows)


if __name__ == "__main__":
    main()
