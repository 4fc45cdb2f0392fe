"""``engine memory``: what a model's plan holds in memory, beside a plain ONNX Runtime session."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_inputs, asked_params
from surplus.engine.cli.output import show_json, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar

_SUMMARY = "show what a model holds in memory, beside a plain ONNX Runtime session"
_EXAMPLE = "engine memory model.onnx --devices cpu:2"
_MIB = 2**20


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "memory", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    options.add_inputs(parser)
    options.add_devices(parser)
    options.add_policy(parser)
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


def show_report(report: dict[str, Any]) -> None:
    """Print the tables: what is held, then where the weights and activations are."""
    plan, ratio = report["plan"], report["ratio"]
    rows = [
        _row("after loading", report, "loaded", "resident_bytes"),
        _row("after queries", report, "steady", "resident_bytes"),
        _row("of it private (heap, arena)", report, "steady", "private_bytes"),
        _row("of it this process's share", report, "steady", "share_bytes"),
        _row("of it pages counted twice", report, "steady", "counted_twice_bytes"),
        _row("peak", report, "steady", "peak_bytes"),
        _row("process before the model", report, "base", "resident_bytes"),
    ]
    rows.append({"MiB": "threads", **{k: str(report[k]["threads"]) for k in ("planned", "plain")}})
    rows.append({"MiB": "peak ratio", "planned": f"{ratio['peak']:.2f}", "plain": "1"})
    show_rows(f"{report['model']}: {plan['segments']} segments ({plan['name']})", rows)
    show_rows("Weights and activations", _details(report))


def _row(label: str, report: dict[str, Any], stage: str, field: str) -> dict[str, str]:
    return {
        "MiB": label,
        **{kind: _mib(report[kind][stage][field]) for kind in ("planned", "plain")},
    }


def _details(report: dict[str, Any]) -> list[dict[str, str]]:
    weights, activations = report["weights"], report["activations"]
    arena = report["planned"]["steady"]["private_bytes"]
    arena -= report["planned"]["loaded"]["private_bytes"]
    unknown = f", {activations['unknown']} tensors of unknown size" * bool(activations["unknown"])
    mapped = f"{weights['files']} files in {weights['mappings']} mappings"
    rows = {
        "weights as the model has them": (weights["original_bytes"], "one file"),
        "weights in blocks or packed": (
            weights["rewritten_bytes"],
            f"{weights['rewritten_files']} files, with what they replace",
        ),
        "weights mapped": (weights["file_bytes"], mapped),
        "weights resident": (weights["resident_bytes"], "shared by all processes"),
        "weights copied": (weights["private_bytes"], "private pages of these mappings"),
        "activations, predicted peak": (activations["peak_bytes"], f"one query{unknown}"),
        "arena, measured": (arena, "private growth by queries"),
    }
    return [{"what": k, "MiB": _mib(size), "note": note} for k, (size, note) in rows.items()]


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f}"
