"""``engine run``: execute a model, alone or beside a plain ONNX Runtime session."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_inputs, asked_params
from surplus.engine.cli.output import check_chart, check_outputs
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar

if TYPE_CHECKING:
    from surplus.engine.runtime.planned_model import PlannedModel

_SUMMARY = "execute a model and time it, alone or beside a plain ONNX Runtime session"
_EXAMPLE = """
engine run model.onnx --devices cpu:2 --compare --repeat 50
engine run model.onnx --placement placement.json --profile P.json --trace t.json
engine run model.onnx --explain
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "run", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    options.add_inputs(parser)
    options.add_devices(parser, "those of --profile, else every core")
    options.add_policy(parser)
    options.add_slices(parser)
    options.add_gpu_memory(parser)
    options.add_kernels(parser)
    options.add_overlap(parser)
    add = parser.add_argument
    add("--placement", type=Path, metavar="F.json", help="a placement file instead of --policy")
    options.add_profile(parser, required=False)
    add("--repeat", type=int, default=20, metavar="N", help="timed queries (default %(default)s)")
    add("--compare", action="store_true", help="interleave with ONNX Runtime at its best setting")
    add(
        "--explain",
        action="store_true",
        help="say where the time goes: --repeat further runs are traced, the median one is shown",
    )
    add("--trace", type=Path, metavar="T.json", help="write predicted and measured spans, Perfetto")
    add(
        "--gantt",
        type=Path,
        metavar="G.html|G.png",
        help="draw prediction and a measured run",
    )
    add("--fresh", action="store_true", help="ignore the stored plan, and do not store one")
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load, run, and report what was asked for."""
    from surplus.engine.cli.run_explain import explained
    from surplus.engine.cli.run_report import draw, report_of, show_report

    if args.repeat < 1:
        raise ValueError(f"--repeat must be >= 1, got {args.repeat}")
    check_outputs(args.trace)
    check_chart(args.gantt)
    model, inputs = _load(args)
    report = report_of(
        model, inputs, args.repeat, args.model if args.compare else None, args.devices
    )
    explanation = None
    if args.explain or args.trace or args.gantt:
        explanation = explained(model, inputs, args.repeat if args.explain else 1)
        draw(model.graph.name, explanation, args.trace, args.gantt)
    title = f"{model.graph.name} on {', '.join(model.plan.devices)}"
    show_report(title, report, explanation if args.explain else None, as_json=args.json)
    return 0


def _load(args: argparse.Namespace) -> tuple[PlannedModel, dict[str, Any]]:
    from surplus.engine.pipeline.loading import load_with
    from surplus.engine.pipeline.making import load_placed

    params = asked_params(
        args,
        reuse=not args.fresh,
        slice_s=args.slice_ms / 1e3,
        gpu_memory=args.gpu_memory,
        relaxed_numerics=args.any_bits,
        max_batch=args.max_batch,
    )
    if args.profile and not args.placement:
        raise ValueError("--profile goes with --placement; a policy measures for itself")
    inputs = asked_inputs(args)
    with progress_bar() as progress:
        if args.placement:
            files = (args.placement, args.profile)
            return load_placed(args.model, *files, params, inputs, progress), inputs
        return load_with(args.model, params, inputs, progress), inputs
