"""``engine models``: the networks that this package can build, with seeded weights."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.cli.options import pairs
from engine.report.tables import print_rows


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("models", help=__doc__.split("\n")[0], description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="what there is")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=run_list)
    build = actions.add_parser("build", help="build one as an ONNX file with example inputs")
    build.add_argument("name")
    build.add_argument("-o", "--output", type=Path, help="default: NAME.onnx")
    build.add_argument("--param", action="append", default=[], metavar="KEY=VALUE")
    build.add_argument("--no-inputs", action="store_true", help="do not write NAME.npz beside it")
    build.set_defaults(run=run_build)


def run_list(args: argparse.Namespace) -> int:
    """Print the registry."""
    import models

    rows = [_row(models.info(name)) for name in models.model_names()]
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print_rows("models", rows)
    return 0


def _row(info: Any) -> dict[str, Any]:
    parameters = ", ".join(f"{key}={value}" for key, value in info.parameters.items())
    return {"name": info.name, "parameters": parameters, "description": info.description}


def run_build(args: argparse.Namespace) -> int:
    """Build one model and its example inputs."""
    import models

    info = models.info(args.name)
    parameters = info.parse({k: str(v) for k, v in pairs(args.param).items()})
    path = args.output or Path(f"{args.name}.onnx")
    models.save(info.build(**parameters), path)
    print(path)
    if not args.no_inputs:
        inputs = info.example_inputs(**parameters)
        np.savez(path.with_suffix(".npz"), **inputs)  # type: ignore[arg-type]
        print(path.with_suffix(".npz"))
    return 0
