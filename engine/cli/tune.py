"""``engine tune``: look for the fastest plan of a model, offline, and store it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_inputs, asked_params
from surplus.engine.cli.output import show_json
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar
from surplus.engine.cli.tune_report import show_tuned, tuned_document

if TYPE_CHECKING:
    pass

_SUMMARY = "look for the fastest segments, widths and order of a model, and store the plan"
_EXAMPLE = """
engine tune model.onnx
engine tune model.onnx --devices cpu:2 --time 60 --inputs examples.npz --json
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "tune", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    options.add_inputs(parser)
    options.add_devices(parser)
    options.add_policy(parser)
    options.add_gpu_memory(parser)
    options.add_kernels(parser)
    options.add_any_bits(parser)
    parser.add_argument(
        "--time",
        type=float,
        default=20.0,
        metavar="S",
        help="seconds to look for (default %(default)g); profiling a new model comes before",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Tune, print what each round tried and gained, and where the plan is stored."""
    from surplus.engine.pipeline.making import tune_with
    from surplus.engine.planning.tune_params import TuneParams

    TuneParams(args.time)
    params = asked_params(
        args, tune_s=args.time, gpu_memory=args.gpu_memory, relaxed_numerics=args.any_bits
    )
    params.specs()
    inputs = asked_inputs(args)
    with progress_bar() as progress:
        tuned = tune_with(args.model, params, inputs, progress)
    if args.json:
        show_json({**tuned.report.to_dict(), **tuned_document(tuned)})
    else:
        show_tuned(tuned)
    return 0
