"""``engine optimum``: the proven optimum of a placement, or the best found and its bound."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.asked import asked_problem
from surplus.engine.cli.emit_options import add_exports, check_emit, write_emitted
from surplus.engine.cli.optimum_files import check_files, write_files
from surplus.engine.cli.optimum_options import add_search, asked_search
from surplus.engine.cli.options import (
    add_gpu_memory,
    add_json,
    add_kernels_of_profile,
    add_model,
    add_profile,
    add_widths,
)
from surplus.engine.cli.output import duration, show_mapping
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.terminal import raw_stream
from surplus.engine.errors import ConfigError, PlacementError

if TYPE_CHECKING:
    from surplus.milp import Result, SolveParams
    from surplus.placement import Problem

_SUMMARY = "find the best placement and order, and prove how good it is"
_EXAMPLE = """
engine optimum model.onnx --profile P.json --time 60 -o placement.json --plot gap.png
engine optimum model.onnx --profile P.json --problem P.json; python -m surplus.milp P.json
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "optimum", _SUMMARY, _EXAMPLE, run)
    add_model(parser)
    add_profile(parser, required=True)
    add_gpu_memory(parser)
    add_widths(parser)
    add_kernels_of_profile(parser)
    add_search(parser)
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="F.json", help="write the placement")
    add("--gantt", type=Path, metavar="G.html|G.png", help="draw the timeline that was found")
    add("--plot", type=Path, metavar="G.png", help="draw plan, bound and gap over time")
    add_exports(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Solve and report status, makespan, bound and gap."""
    check_files(args)
    check_emit(args)
    params = asked_search(args)
    graph, problem = asked_problem(args)
    if args.problem:
        args.problem.write_text(problem.to_json(), encoding="utf-8")
    result = _solve(problem, params)
    if result.placement is None or result.timeline is None:
        raise PlacementError(f"no plan found: {result.message}")
    write_files(args, graph, problem, result)
    write_emitted(args, graph, problem, result.placement.without_holds(), result.bound_ns)
    if args.json:
        print(result.to_json(problem))
    else:
        show_mapping(f"{graph.name}: {result.solver}", _summary(result))
    return 0


def _solve(problem: Problem, params: SolveParams) -> Result:
    from surplus.milp import SolverUnavailableError, solve
    from surplus.milp.live import live

    try:
        with live(raw_stream(sys.stderr), lines=False) as listener:
            return solve(problem, params, listener)
    except SolverUnavailableError as error:
        raise ConfigError(str(error)) from error


def _summary(result: Result) -> dict[str, Any]:
    widths = result.placement.width_of if result.placement else ()
    return {
        "status": str(result.status),
        **({"wide tasks": sum(width > 1 for width in widths)} if widths else {}),
        "makespan": duration(result.makespan_ns or 0),
        "dispatched": f"{duration(result.held_ns or 0)}, without holds"
        f" {duration(result.dispatched_ns or 0)}",
        "bound": duration(result.bound_ns),
        "gap": f"{100 * (result.gap or 0.0):.2f} %",
        "solved in": duration(result.runtime_s * 1e9),
        "message": result.message,
    }
