"""``python -m surplus.milp problem.json``: the optimum of a placement problem, without any ONNX."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from surplus.milp.errors import SolverUnavailableError
from surplus.milp.live import live
from surplus.milp.params import SolveParams
from surplus.milp.plot import check_plot, write_plot
from surplus.milp.result import Status
from surplus.milp.solve import solve
from surplus.milp.solvers import solver_names
from surplus.milp.table import result_table
from surplus.milp.throughput.search import solve_throughput
from surplus.placement import ContradictionError, Problem
from surplus.placement.byte_sizes import bytes_of
from surplus.placement.formats.options import add_problem_options, asked_file
from surplus.placement.stored_schedule_check import stored_faults

_INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0 with a plan or if ``--check`` finds no fault, 1 without or with one, 2 on an error, 70
        where a bound is above a plan.
    """
    options = _parser().parse_args(arguments)
    try:
        problem = asked_file(options)
        if options.check is not None:
            return _check(problem, options.check)
        if options.plot is not None:
            if options.objective != "makespan":
                raise ValueError("--plot belongs to --objective makespan")
            check_plot(options.plot)
        params = SolveParams(
            solver=options.solver,
            time_limit_s=options.time,
            gap=options.gap,
            threads=options.threads,
            memory_bytes=options.memory and bytes_of(options.memory),
        )
        if options.front and options.objective != "throughput":
            raise ValueError("--front belongs to --objective throughput")
        if options.objective == "throughput":
            return _throughput(problem, params, options)
        with live(sys.stderr) as listener:
            result = solve(problem, params, listener)
        if options.plot is not None:
            write_plot(options.plot, result, problem.name)
        _write(result.to_json(problem), result_table(problem, result), options)
    except (OSError, UnicodeDecodeError, ValueError, SolverUnavailableError) as error:
        print(f"milp: error: {error}", file=sys.stderr)
        return 2
    except ContradictionError as error:
        print(f"milp: internal error: {error}", file=sys.stderr)
        return _INTERNAL_ERROR
    return 1 if result.status in (Status.BOUND_ONLY, Status.INFEASIBLE) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m surplus.milp",
        description="Find the best placement and order of a task graph, and prove how good it is."
        " Problem formats are described in docs/FORMATS.md.",
    )
    add_problem_options(parser)
    parser.add_argument(
        "--objective",
        choices=("makespan", "throughput"),
        default="makespan",
        help="of one query (default); or the least load of the busiest resource, which limits how"
        " many queries end in a second, with a periodic schedule",
    )
    parser.add_argument(
        "--front",
        action="store_true",
        help="with --objective throughput: latency against throughput, too",
    )
    parser.add_argument("--time", type=float, default=60.0, help="limit in seconds (60)")
    parser.add_argument("--solver", choices=solver_names(), default="auto")
    parser.add_argument("--gap", type=float, default=0.0, help="relative gap that is enough (0)")
    parser.add_argument("--threads", type=int, default=2, help="threads of the solver (2)")
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="what all of it may hold, solvers included, for example 4GiB (default: no limit)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--check",
        type=Path,
        metavar="RESULT",
        help="solve nothing, but judge a result that was stored as JSON against the problem",
    )
    parser.add_argument("-o", "--output", type=Path, help="write the result as JSON to a file")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw plan, bound and gap over time (.png, .svg, .pdf; needs matplotlib)",
    )
    return parser


def _throughput(problem: Problem, params: SolveParams, options: argparse.Namespace) -> int:
    with live(sys.stderr, what="load") as listener:
        found = solve_throughput(problem, params, listener, front=options.front)
    _write(found.to_json(problem), found.table(problem), options)
    return 0


def _write(document: str, table: str, options: argparse.Namespace) -> None:
    if options.output is not None:
        options.output.write_text(document + "\n", encoding="utf-8")
    print(document if options.json else table)


def _check(problem: Problem, path: Path) -> int:
    faults = stored_faults(problem, path.read_text(encoding="utf-8"))
    print("\n".join(faults) if faults else f"{path}: no faults")
    return 1 if faults else 0
