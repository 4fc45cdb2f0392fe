"""``engine run``: execute a model, alone or beside a plain ONNX Runtime session."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from engine.cli.options import add_devices, add_model, add_policy, pairs, sizes
from engine.cli.progress import progress_bar
from engine.report.tables import print_mapping


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("run", help=__doc__.split("\n")[0], description=__doc__)
    add_model(parser)
    add_devices(parser)
    add_policy(parser)
    parser.add_argument("--placement", type=Path, metavar="F", help="instead of --policy")
    parser.add_argument("--profile", type=Path, metavar="P.json", help="costs for --placement")
    parser.add_argument("--repeat", type=int, default=20, help="queries (default 20)")
    parser.add_argument("--compare", action="store_true", help="interleave with ONNX Runtime")
    parser.add_argument("--trace", type=Path, metavar="T.json", help="write a Perfetto trace")
    parser.add_argument("--gantt", type=Path, metavar="G.html|G.png", help="draw a measured run")
    parser.add_argument("--fresh", action="store_true", help="ignore the stored plan")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load, run, and report what was asked for."""
    from engine.pipeline.load import LoadParams, load_placed, load_with
    from engine.pipeline.stages import example_inputs, read_model
    from engine.runtime.comparison import compare, repeat

    if args.repeat < 1:
        raise ValueError(f"--repeat must be >= 1, got {args.repeat}")
    params = LoadParams(
        devices=args.devices,
        policy=args.policy,
        options=pairs(args.option),
        cache=args.cache,
        reuse=not args.fresh,
    )
    graph = read_model(args.model, args.cache)
    inputs = example_inputs(graph, args.model, args.inputs, sizes(args.dim))
    with progress_bar() as progress:
        if args.placement:
            if args.profile is None:
                raise ValueError("--placement needs --profile, the costs that it was made with")
            model = load_placed(args.model, args.placement, args.profile, params, inputs, progress)
        else:
            model = load_with(args.model, params, inputs, progress)
    times = compare if args.compare else repeat
    report = {**_plan_summary(model), **times(model, inputs, args.repeat)}
    if args.trace or args.gantt:
        model.run(inputs, traced=True)
        _draw(args, model)
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print_mapping(f"{graph.name} on {args.devices}", report)
    return 0


def _plan_summary(model: Any) -> dict[str, Any]:
    plan = model.plan
    return {
        "policy": plan.policy,
        "segmentation": plan.name,
        "segments": len(plan.segments),
        "predicted_ms": plan.predicted.makespan_ns / 1e6,
        "lower_bound_ms": plan.bound_ns / 1e6,
    }


def _draw(args: argparse.Namespace, model: Any) -> None:
    from engine.report.gantt import write_gantt
    from engine.report.trace import write_trace

    measured, predicted = model.timeline(), model.plan.predicted
    if args.trace:
        write_trace(args.trace, {"predicted": predicted, "measured": measured})
    if args.gantt:
        write_gantt(args.gantt, measured, predicted=predicted, title=model.graph.name)
