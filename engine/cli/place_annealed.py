"""``engine place --time``: annealing of the policy's plan."""

from __future__ import annotations

import argparse
import math

from surplus.engine.cli.progress import progress_bar
from surplus.engine.errors import ConfigError
from surplus.placement import Placement, Problem, lower_bounds


def add_time(parser: argparse.ArgumentParser) -> None:
    """--time."""
    parser.add_argument(
        "--time",
        type=float,
        default=0.0,
        metavar="S",
        help="go on from the policy's plan by simulated annealing for so many seconds, on every"
        " core (default: do not); with --objective throughput how long a solver searches for the"
        " least load (default: 10)",
    )


def check_time(time_s: float) -> None:
    """Refuse a time that is none, in seconds.

    Raises
    ------
    ConfigError
        Naming it.
    """
    if not 0 <= time_s < math.inf:
        raise ConfigError(f"--time must be >= 0 seconds, got {time_s:g}")


def annealed(problem: Problem, placement: Placement, time_s: float) -> Placement:
    """Anneal on every core, under a bar; it ends early where a bound is met."""
    from surplus.placement.anneal import AnnealParams, improved

    params = AnnealParams(time_s=time_s, threads=0)
    bound_ns = lower_bounds(problem).makespan_ns
    total = math.ceil(time_s)
    with progress_bar() as progress:
        progress("anneal (s)", 0, total)
        found = improved(
            problem,
            placement,
            params,
            target_ns=bound_ns,
            report=lambda elapsed_s, _: progress("anneal (s)", min(int(elapsed_s), total), total),
        )
        progress("anneal (s)", total, total)
    return found
