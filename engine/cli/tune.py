"""``engine tune``: look for the fastest plan of a model, offline, and store it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_inputs, asked_params
from surplus.engine.cli.output import duration, show_json, show_mapping, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar

if TYPE_CHECKING:
    from surplus.engine.pipeline.making import TunedModel

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
        args, tune_s=args.time, gpu_memory=args.gpu_memory, same_bits=not args.any_bits
    )
    params.specs()
    inputs = asked_inputs(args)
    with progress_bar() as progress:
        tuned = tune_with(args.model, params, inputs, progress)
    if args.json:
        show_json({**tuned.report.to_dict(), **_result(tuned)})
    else:
        _show(tuned)
    return 0


def _result(tuned: TunedModel) -> dict[str, Any]:
    from surplus.engine.cli.run_report import throughput_plan_of

    plan = tuned.model.plan
    return {
        "segments": len(plan.segments),
        "predicted_ms": plan.predicted.makespan_ns / 1e6,
        "lower_bound_ms": plan.bound_ns / 1e6,
        **throughput_plan_of(tuned.model),
        "path": None if tuned.path is None else str(tuned.path),
    }


def _show(tuned: TunedModel) -> None:
    from surplus.engine.planning.tuning_report import described

    report, plan = tuned.report, tuned.model.plan
    devices = ", ".join(plan.devices)
    show_rows(f"{tuned.model.graph.name} on {devices}: what each round tried", list(report.rows()))
    errors = " -> ".join(f"{100 * played.median_error:.1f} %" for played in report.rounds)
    ratio = report.against_whole
    show_mapping(
        "result",
        {
            "plan": f"{report.chosen}, {len(plan.segments)} segments",
            "predicted": duration(plan.predicted.makespan_ns),
            "lower bound": duration(plan.bound_ns),
            f"ratio to {report.whole or 'the whole model'}": (
                described(ratio)
                if ratio
                else "1"
                if report.whole
                else "no device can run all of it"
            ),
            "median error of predictions": errors,
            "stopped": f"{report.stopped}, after {report.time_s:.1f} of {report.budget_s:g} s",
        },
    )
    if tuned.model.throughput_plan is not None:
        print(f"while queries overlap: {tuned.model.throughput_plan.text}")
    print(f"stored in {tuned.path}" if tuned.path else "not stored: the cache cannot be written")
