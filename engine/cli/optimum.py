"""``engine optimum``: the proven optimum of a placement, or the best found and its bound."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.options import add_cache
from engine.errors import PlacementError
from engine.report.tables import print_mapping

if TYPE_CHECKING:
    from milp import Result


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("optimum", help=__doc__.split("\n")[0], description=__doc__)
    parser.add_argument("model", type=Path, metavar="MODEL")
    add_cache(parser)
    parser.add_argument("--profile", type=Path, required=True, metavar="P.json")
    parser.add_argument("--time", type=float, default=60.0, help="seconds (default 60)")
    parser.add_argument("--solver", default="highs", choices=("highs", "cbc", "gurobi"))
    parser.add_argument("-o", "--output", type=Path, metavar="placement.json")
    parser.add_argument("--problem", type=Path, help="also write the problem for python -m milp")
    parser.add_argument("--gantt", type=Path, metavar="G.html|G.png", help="draw the result")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Solve and report status, makespan, bound and gap."""
    from engine.pipeline.placement_file import save_placement
    from engine.pipeline.stages import read_model
    from engine.profiling.costs import problem_of
    from engine.profiling.profile import Profile
    from engine.report.gantt import write_gantt
    from milp import SolveParams, solve

    graph = read_model(args.model, args.cache)
    profile = Profile.load(args.profile)
    problem = problem_of(graph, profile, profile.device_specs())
    if args.problem:
        args.problem.write_text(problem.to_json())
    result = solve(problem, SolveParams(solver=args.solver, time_limit_s=args.time))
    if result.placement is None or result.timeline is None:
        raise PlacementError(f"no plan found: {result.message}")
    if args.output:
        save_placement(args.output, graph, problem, result.placement)
    if args.gantt:
        write_gantt(args.gantt, result.timeline, title=f"{graph.name}: optimum ({result.status})")
    if args.json:
        print(result.to_json(problem))
    else:
        print_mapping(f"{graph.name}: {args.solver}", _summary(result))
    return 0


def _summary(result: Result) -> dict[str, Any]:
    return {
        "status": str(result.status),
        "makespan_ms": (result.makespan_ns or 0) / 1e6,
        "bound_ms": result.bound_ns / 1e6,
        "gap_percent": 100 * (result.gap or 0.0),
        "runtime_s": round(result.runtime_s, 2),
        "message": result.message,
    }
