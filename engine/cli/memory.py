"""``engine memory``: what a model's plan holds in memory, beside a plain ONNX Runtime session."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_inputs, asked_params
from surplus.engine.cli.memory_tables import show_report
from surplus.engine.cli.output import show_json
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar

_SUMMARY = "show what a model holds in memory, beside a plain ONNX Runtime session"
_EXAMPLE = "engine memory model.onnx --devices cpu:2"


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "memory", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    options.add_inputs(parser)
    options.add_devices(parser)
    options.add_policy(parser)
    options.add_kernels(parser)
    parser.add_argument(
        "--queries",
        type=int,
        default=10,
        metavar="N",
        help="queries before the steady state (default %(default)s)",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure in fresh processes and print."""
    from surplus.engine.pipeline.loading import load_with
    from surplus.engine.pipeline.memory_report import memory_report

    if args.queries < 1:
        raise ValueError(f"--queries must be >= 1, got {args.queries}")
    params = asked_params(args)
    inputs = asked_inputs(args)
    with progress_bar() as progress:
        load_with(args.model, params, inputs, progress)
    report = memory_report(args.model, params, inputs, args.queries)
    if args.json:
        show_json(report)
    else:
        show_report(report)
    return 0
