"""``loadgen capacity``: the highest rate within a latency target."""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from surplus.loadgen.arrivals.spec import has_own_rate, make_arrivals
from surplus.loadgen.capacity.find import find_capacity
from surplus.loadgen.capacity.params import LatencyTarget, RampParams
from surplus.loadgen.capacity.result import capacity_document, statement
from surplus.loadgen.clock import precise_loop
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.verbs.contradictions import check_options
from surplus.loadgen.verbs.loop_options import (
    add_arrival_options,
    arrivals_of,
    most_outstanding,
)
from surplus.loadgen.verbs.options import (
    add_target_options,
    asked_models,
    bad_options,
    transport,
    url,
)
from surplus.loadgen.verbs.run import check_file
from surplus.loadgen.verbs.scenario import apply_scenario


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("capacity", help="the highest rate within a latency target")
    add_target_options(parser)
    add_arrival_options(parser)
    add = parser.add_argument
    add("--slo", help="the target: how long queries may take, as 50ms")
    add("--percentile", type=float, default=99.0, help="of the queries, that must (%(default)s)")
    add("--resolution", type=float, default=0.05, help="how finely, as a share (%(default)s)")
    add("--confidence", type=float, default=0.95, help="of each decision (%(default)s)")
    add("--window", help="length of one run (5s, or 20 times the target)")
    add("--warmup", default="1s", help="before each of them (%(default)s)")
    add("--windows", type=int, default=4, help="most for a rate that is not clear (%(default)s)")
    add("--checks", type=int, default=5, help="windows that must hold it at last (%(default)s)")
    add("--start", type=float, metavar="RATE", help="to begin with (what one user gets)")
    add("--json", metavar="FILE|-", help="write the result; - prints only JSON")
    parser.set_defaults(do=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    with bad_options():
        arguments = apply_scenario(parser, arguments)
        check_options(arguments)
        if arguments.slo is None:
            raise ValueError("there is no latency target: give --slo")
        ramp = _ramp(arguments)
        arrivals = arrivals_of(arguments)
        process = make_arrivals(arrivals, None if has_own_rate(arrivals) else 1.0)
        loop = OpenLoopParams(max_outstanding=most_outstanding(arguments))
        asked = (url(arguments), asked_models(arguments), loop, process, arguments.seed)
        params = MeasureParams(*asked, transport(arguments))
    check_file(arguments.json)
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        console = Console(stderr=True)
        found = runner.run(find_capacity(params, process, ramp, console))
    document = capacity_document(found, params, ramp)
    if arguments.json == "-":
        print(json.dumps(document, indent=1))
    else:
        print(statement(found, ramp, params.title))
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    return 0 if found.rate_per_s else 1


def _ramp(arguments: argparse.Namespace) -> RampParams:
    return RampParams(
        LatencyTarget(parse_duration_ns(arguments.slo), arguments.percentile),
        0 if arguments.window is None else parse_duration_ns(arguments.window),
        parse_duration_ns(arguments.warmup),
        arguments.resolution,
        arguments.confidence,
        arguments.windows,
        arguments.checks,
        arguments.start,
    )
