"""``engine inspect``: the shape of a model's data-flow graph."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from engine.cli.options import add_cache
from engine.report.tables import print_mapping


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("inspect", help=__doc__.split("\n")[0], description=__doc__)
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    add_cache(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the model and print what is in it."""
    from engine.dfg.inspect import inspect
    from engine.pipeline.stages import read_model

    found = asdict(inspect(read_model(args.model, args.cache)))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print_mapping(str(args.model), found)
    return 0
