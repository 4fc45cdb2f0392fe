"""Options of ``engine place`` for times that vary: what a plan promises, and one chosen by that."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.output import duration
from surplus.engine.cli.place_throughput import THROUGHPUT
from surplus.placement import Placement, Problem
from surplus.placement.noise import NoiseParams, NoisyProblem, Promise
from surplus.placement.robust import RobustParams

_MAKESPAN, _P95 = "makespan", "p95"
_ROBUST = "robust"


def add_noise(parser: argparse.ArgumentParser) -> None:
    """--objective and --noise."""
    add = parser.add_argument
    add(
        "--objective",
        choices=(_MAKESPAN, _P95, THROUGHPUT),
        default=_MAKESPAN,
        help="what is to be short: the makespan if all times are as measured (default), which is"
        " the policy's own; or that of 95 of 100 queries under noise, of several policies' plans;"
        " or, throughput, what the busiest resource does for one query, with a proof",
    )
    add(
        "--noise",
        type=float,
        default=NoiseParams.deviation,
        metavar="SHARE",
        help="relative deviation of service times for which it is told what the plan promises"
        " (default %(default)s; 0: none)",
    )


def asked_policy(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Who chooses, with its options."""
    NoiseParams(args.noise)
    chosen = options.pairs(args.option)
    if args.objective != _P95:
        return args.policy, chosen
    proposers = RobustParams().policies
    if args.policy not in (*proposers, _ROBUST):
        proposers = (args.policy, *proposers)
    return _ROBUST, {"deviation": args.noise, "policies": proposers, **chosen}


def promised(args: argparse.Namespace, problem: Problem, chosen: Placement) -> Promise | None:
    """What the plan comes to under noise, if that was asked for."""
    if not args.noise:
        return None
    return NoisyProblem(problem, NoiseParams(args.noise)).promise(chosen)


def show_promise(args: argparse.Namespace, promise: Promise) -> None:
    """A line."""
    noise = NoiseParams(args.noise)
    print(
        f"under {noise.deviation:.0%} noise, {noise.samples} samples:"
        f" {duration(promise.p50_ns)} (median), {duration(promise.p95_ns)} (p95),"
        f" {duration(promise.p99_ns)} (p99)"
    )
