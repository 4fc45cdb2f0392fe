"""``engine profile``: what every operator costs on every device, and every copy."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from engine.cli.options import add_devices, add_model, sizes
from engine.cli.progress import progress_bar
from engine.report.tables import print_rows


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("profile", help=__doc__.split("\n")[0], description=__doc__)
    add_model(parser)
    add_devices(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="P.json")
    parser.add_argument("--json", action="store_true", help="print the totals as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, write the profile, print the totals by operator type."""
    from engine.pipeline.stages import example_inputs, measure, read_model
    from engine.profiling.devices import parse_devices

    specs = parse_devices(args.devices)
    graph = read_model(args.model, args.cache)
    inputs = example_inputs(graph, args.model, args.inputs, sizes(args.dim))
    with progress_bar() as progress:
        profile = measure(graph, specs, inputs, args.cache, progress)
    profile.save(args.output)
    rows = profile.totals_by_operator()
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print_rows(f"{graph.name}: {len(graph.tasks)} tasks, ms by operator type", rows)
    return 0
