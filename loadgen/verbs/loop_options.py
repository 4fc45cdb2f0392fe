"""Options of a load: closed or open loop, arrivals, how long."""

from __future__ import annotations

import argparse

from surplus.loadgen.arrivals import ArrivalProcess
from surplus.loadgen.arrivals.spec import has_own_rate, make_arrivals
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams

_CENTURY = "876000h"


def add_loop_options(parser: argparse.ArgumentParser) -> None:
    """Of one load."""
    loop = parser.add_mutually_exclusive_group()
    loop.add_argument("--users", type=int, help="closed loop: queries in flight (1)")
    loop.add_argument("--rate", type=float, help="open loop: queries per second, on average")
    add = parser.add_argument
    add_arrival_options(parser)
    add("--duration", help="least time: 10s, 500ms, 2m (10s; nothing with --count; a whole trace)")
    add("--count", type=int, default=0, help="least number of measured queries")
    add("--warmup", help="time before the measurement (1s; none for a trace)")


def add_arrival_options(parser: argparse.ArgumentParser) -> None:
    """Of open loops."""
    add = parser.add_argument
    add("--arrivals", metavar="NAME[:KEY=VALUE,...]", help="of the open loop (poisson)")
    add("--max-outstanding", type=int, help="of the open loop (4096)")


def arrivals_of(arguments: argparse.Namespace) -> str:
    """Of an open loop, as they are written."""
    return str(arguments.arrivals or "poisson")


def most_outstanding(arguments: argparse.Namespace) -> int:
    """Queries in flight of an open loop."""
    given: int | None = arguments.max_outstanding
    return 4096 if given is None else given


def loop_and_process(
    arguments: argparse.Namespace,
) -> tuple[ClosedLoopParams | OpenLoopParams, ArrivalProcess | None]:
    """What the options ask for.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
    arrivals = arrivals_of(arguments)
    is_trace = has_own_rate(arrivals)
    if arguments.rate is None and not (is_trace and arguments.users is None):
        if is_trace:
            raise ValueError("a trace is an open loop: it has no --users")
        users = 1 if arguments.users is None else arguments.users
        return ClosedLoopParams(_load(arguments, "10s", "1s"), users), None
    process = make_arrivals(arrivals, arguments.rate)
    load = _load(arguments, *((_CENTURY, "0s") if is_trace else ("10s", "1s")))
    return OpenLoopParams(load, most_outstanding(arguments)), process


def _load(arguments: argparse.Namespace, usual: str, warmup: str) -> LoadgenParams:
    duration = arguments.duration or ("0s" if arguments.count else usual)
    warmup = arguments.warmup or warmup
    return LoadgenParams(parse_duration_ns(duration), arguments.count, parse_duration_ns(warmup))
