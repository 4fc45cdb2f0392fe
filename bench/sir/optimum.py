"""SIR+'s Comm+SD beside other policies, annealing and the proven optimum, on stored profiles.

The paper has Comm+SD within 1 to 2.87 % of the best placement that a search of two days found. Here
there is a bound no plan is below, and the best plan of all that were tried. Everything is simulated
on the profiles of bench/profiles: the CPU's times measured, the GPU's derived. ``FIFO`` is
the paper's runtime, whose queues know no priorities.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.profiles import DETECTORS, profile_path
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import read_model
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.profile import Profile
from surplus.milp import SolveParams, solve
from surplus.placement import Placement, Problem, SimulatorParams, check, make_policy, simulate
from surplus.placement.anneal import AnnealParams, improved

TABLE = "sir_optimum"
SOLVE_S, ANNEAL_S = 60.0, 30.0
LANES = ("1", "2")
_SOLVER, _ANNEAL = "solver", "anneal"
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "single": ("single", {}),
    "Comm+SD as printed": ("comm_sd", {"compare": "fastest"}),
    "Comm+SD as meant": ("comm_sd", {}),
    "comm_sd_best": ("comm_sd_best", {}),
    "heft": ("heft", {}),
    "auto": ("auto", {}),
}
"""By the name in the table: the policy and its options."""

ROWS = (_SOLVER, *POLICIES, _ANNEAL)
"""The solver is first, since the others are compared with its plan and its bound."""


def stored_problem(model: str, lanes: str) -> Problem:
    """A detector on so many lanes of the CPU and the profile's GPU."""
    path, _ = built(model)
    graph = read_model(path, FOLDER / "cache")
    specs = parse_devices(f"cpu:{lanes},emulated:gpu[titan_rtx]")
    return problem_of(graph, Profile.load(profile_path(model)), specs)


@dataclass(frozen=True)
class Study:
    """How long each problem is searched.

    Parameters
    ----------
    solve_s, anneal_s : float
        For the solver, and for the annealing whose plan it begins with.
    problem_of : callable
        By model and lanes.
    """

    solve_s: float
    anneal_s: float
    problem_of: Callable[[str, str], Problem]

    def rows(self, table: Table, keys: Sequence[Key]) -> list[Row]:
        """Measure what is missing."""
        annealed = cache(self._annealed)

        def measure(key: Key) -> Row:
            model, lanes, name = key
            if name == _SOLVER:
                return self._solved(model, lanes, annealed(model, lanes))
            if name == _ANNEAL:
                plan = annealed(model, lanes)
            else:
                policy, options = POLICIES[name]
                plan = make_policy(policy, **options).place(self.problem_of(model, lanes))
            (best,) = (r for r in table.rows if table.key_of(r) == (model, lanes, _SOLVER))
            return self._row(key, plan, best["bound ms"], best["makespan ms"])

        return fill(table, keys, measure)

    def _annealed(self, model: str, lanes: str) -> Placement:
        problem = self.problem_of(model, lanes)
        params = AnnealParams(time_s=self.anneal_s, threads=0)
        return improved(problem, make_policy("auto").place(problem), params)

    def _solved(self, model: str, lanes: str, known: Placement) -> Row:
        problem = self.problem_of(model, lanes)
        found = solve(problem, SolveParams(time_limit_s=self.solve_s, warm_start=known))
        assert found.placement is not None
        assert found.makespan_ns is not None
        # A plan that idles on purpose is as long as the solver says, not as a runtime makes it.
        bound_ms, makespan_ms = found.bound_ns / 1e6, found.makespan_ns / 1e6
        row = self._row((model, lanes, _SOLVER), found.placement, bound_ms, makespan_ms)
        above = 100 * (makespan_ms / bound_ms - 1)
        return {**row, "makespan ms": makespan_ms, "above the bound %": above}

    def _row(self, key: Key, plan: Placement, bound_ms: float, best_ms: float) -> Row:
        model, lanes, name = key
        problem = self.problem_of(model, lanes)
        timeline = simulate(problem, plan)
        check(problem, plan, timeline)
        ms = timeline.makespan_ns / 1e6
        fifo_ms = simulate(problem, plan, SimulatorParams("fifo")).makespan_ns / 1e6
        return {
            "model": model,
            "CPU lanes": lanes,
            "policy": name,
            "makespan ms": ms,
            "bound ms": bound_ms,
            "above the bound %": 100 * (ms / bound_ms - 1),
            "above the best plan %": 0.0 if name == _SOLVER else 100 * (ms / best_ms - 1),
            "FIFO ms": fifo_ms,
            "FIFO above the best plan %": 100 * (fifo_ms / best_ms - 1),
        }


def main() -> None:
    """Measure and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join(DETECTORS), metavar="M,...", help="(%(default)s)")
    add("--lanes", default=",".join(LANES), metavar="N,...", help="of the CPU (%(default)s)")
    add("--solve", type=float, default=SOLVE_S, metavar="S", help="for each (%(default)g)")
    add("--anneal", type=float, default=ANNEAL_S, metavar="S", help="for each (%(default)g)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    args = parser.parse_args()
    keys = [
        (model, lanes, name)
        for model in args.models.split(",")
        for lanes in args.lanes.split(",")
        for name in ROWS
    ]
    config = {"models": args.models, "lanes": args.lanes}
    config |= {"solve_s": args.solve, "anneal_s": args.anneal}
    table = Table(TABLE, config, ("model", "CPU lanes", "policy"), anew=args.anew)
    rows = Study(args.solve, args.anneal, cache(stored_problem)).rows(table, keys)
    result_file.show("Comm+SD and the optimum (simulated, derived GPU profile)", rows)


if __name__ == "__main__":
    main()
