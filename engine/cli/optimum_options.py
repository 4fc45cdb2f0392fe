"""Options of ``engine optimum`` that say how to search."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.milp import SolveParams


def add_search(parser: argparse.ArgumentParser) -> None:
    """--time, --memory and --solver."""
    add = parser.add_argument
    add("--time", type=float, default=60.0, metavar="S", help="limit in seconds (%(default)g)")
    add(
        "--memory",
        default="",
        metavar="SIZE",
        help="what the search may hold, solvers included, for example 4GiB (default: no limit)",
    )
    add(
        "--solver",
        default="auto",
        choices=("auto", "cpsat", "highs", "cbc", "gurobi"),
        help="who proves it (default %(default)s: cpsat, else highs; gurobi needs a licence)",
    )


def asked_search(args: argparse.Namespace) -> SolveParams:
    """What these options ask for.

    Raises
    ------
    ConfigError
        If the size is none.
    ValueError
        If the time is none.
    """
    from surplus.engine.devices.memory_size import parse_bytes
    from surplus.milp import SolveParams

    memory_bytes = parse_bytes(args.memory) if args.memory else None
    return SolveParams(args.solver, args.time, memory_bytes=memory_bytes)
