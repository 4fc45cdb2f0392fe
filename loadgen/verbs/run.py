"""``loadgen run``, and ``loadgen`` without a verb: one measurement."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from surplus.loadgen.arrivals import TraceArrivals
from surplus.loadgen.clock import precise_loop
from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.hdr import hdr_missing, write_hdr_log
from surplus.loadgen.measure import measure
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.result import to_json
from surplus.loadgen.table import render
from surplus.loadgen.verbs.contradictions import check_options
from surplus.loadgen.verbs.loop_options import add_loop_options, loop_and_process
from surplus.loadgen.verbs.options import (
    add_target_options,
    asked_models,
    bad_options,
    transport,
    url,
)
from surplus.loadgen.verbs.scenario import apply_scenario


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("run", help="one measurement; the verb may be left out")
    add_target_options(parser)
    add_loop_options(parser)
    parser.add_argument("--json", metavar="FILE|-", help="write the result; - prints only JSON")
    parser.add_argument("--hdr", metavar="FILE", help="write latencies as an HDR histogram log")
    parser.set_defaults(do=partial(_run, parser))


def measure_params(arguments: argparse.Namespace) -> MeasureParams:
    """What the options ask for.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
    check_options(arguments)
    loop, process = loop_and_process(arguments)
    labels = process.labels if isinstance(process, TraceArrivals) else ()
    names = list(dict.fromkeys(label.model for label in labels if label.model))
    models = asked_models(arguments, names)
    where = (url(arguments), models, loop, process, arguments.seed)
    return MeasureParams(*where, transport(arguments))


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    with bad_options():
        params = measure_params(apply_scenario(parser, arguments))
    for path in (arguments.json, arguments.hdr):
        check_file(path)
    if arguments.hdr and (reason := hdr_missing()):
        raise LoadgenError(reason)
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        measured = runner.run(measure(params, Console(stderr=True)))
    _report(measured, params, arguments.json)
    if arguments.hdr:
        write_hdr_log(Path(arguments.hdr), measured.records, params.title)
    return 0 if measured.summary.succeeded else 1


def check_file(path: str | Path | None) -> None:
    """Refuse a file that cannot be written before the measurement, not after it.

    Raises
    ------
    OSError
        Naming it.
    """
    if path in (None, "-"):
        return
    if Path(path).is_dir() or not os.access(Path(path).parent, os.W_OK):
        raise OSError(f"{path}: cannot be written")


def _report(measured: Measurement, params: MeasureParams, json_path: str | None) -> None:
    if json_path == "-":
        print(to_json(measured, params))
    else:
        Console().print(render(measured, params.title))
    if json_path not in (None, "-"):
        Path(json_path).write_text(to_json(measured, params) + "\n")
    for warning in measured.summary.warnings:
        print(f"loadgen: warning: {warning}", file=sys.stderr)
