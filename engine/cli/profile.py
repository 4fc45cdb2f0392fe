"""``engine profile``: what every operator costs on every device, and every copy."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from surplus.engine.cli.asked import asked_inputs
from surplus.engine.cli.options import add_devices, add_inputs, add_json, add_model
from surplus.engine.cli.output import check_outputs, show_json, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar

_SUMMARY = "measure what every operator costs on every device, and derive every copy"
_EXAMPLE = "engine profile model.onnx --devices cpu:2,emulated:gpu -o P.json"


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "profile", _SUMMARY, _EXAMPLE, run)
    add_model(parser)
    add_inputs(parser)
    add_devices(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="P.json", help="where to write it"
    )
    add_json(parser)
    parser.add_argument(
        "--kernels",
        default="",
        metavar="NAME",
        help="libraries of kernels to measure beside ONNX Runtime's: auto is all that are"
        " installed (see `engine devices`), onnxruntime none (default: $SURPLUS_KERNELS, else"
        " auto)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, write the profile, print the totals by operator type."""
    from surplus.engine.devices.parsing import available_cores, parse_devices
    from surplus.engine.kernels.asked import AskedKernels, kernels_by_default
    from surplus.engine.planning.stages import measure, read_model
    from surplus.engine.profiling.library_times import library_times

    asked = AskedKernels.parse(args.kernels or kernels_by_default())
    specs = parse_devices(args.devices or f"cpu:{available_cores()}")
    check_outputs(args.output)
    graph = read_model(args.model, args.cache)
    inputs = asked_inputs(args, graph)
    with progress_bar() as progress:
        profile = measure(graph, specs, inputs, args.cache, progress)
        progress("time other kernels", 0, 1)
        libraries = library_times(graph, profile, specs, inputs, asked.versions)
        progress("time other kernels", 1, 1)
    profile = replace(profile, libraries=libraries)
    profile.save(args.output)
    rows = profile.totals_by_operator()
    if args.json:
        show_json(rows)
    else:
        show_rows(f"{graph.name}: {len(graph.tasks)} tasks, ms by operator type", rows)
    return 0
