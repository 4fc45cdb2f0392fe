"""``engine models``: the networks that this package can build, with seeded weights."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.engine.cli.options import texts
from surplus.engine.cli.output import check_outputs, show_json, show_rows
from surplus.engine.cli.parser import add_verb

_SUMMARY = "list or build the networks that come with this package, with seeded weights"
_EXAMPLE = """
engine models list
engine models build ssd_per_class --param image_size=300 -o ssd.onnx
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "models", _SUMMARY, _EXAMPLE, run_list)
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|build")
    listing = add_verb(actions, "list", "show what there is", "engine models list", run_list)
    listing.add_argument("--json", action="store_true", help="print JSON instead of a table")
    build = add_verb(
        actions,
        "build",
        "write a network as an ONNX file, and example inputs beside it",
        "engine models build lenet -o lenet.onnx",
        run_build,
    )
    add = build.add_argument
    add("name", metavar="NAME", help="one of engine models list")
    add("-o", "--output", type=Path, metavar="F.onnx", help="where to (default NAME.onnx)")
    add(
        "--param",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter as the list shows them, for example image_size=300; may be repeated",
    )
    add("--no-inputs", action="store_true", help="do not write example inputs (F.npz)")


def run_list(args: argparse.Namespace) -> int:
    """Print the registry."""
    from surplus import models

    rows = [_row(models.info(name)) for name in models.model_names()]
    if args.json:
        show_json(rows)
    else:
        show_rows("models", [{**row, "parameters": _joined(row)} for row in rows])
    return 0


def _row(info: Any) -> dict[str, Any]:
    return {
        "name": info.name,
        "parameters": dict(info.parameters),
        "description": info.description,
    }


def _joined(row: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in row["parameters"].items())


def run_build(args: argparse.Namespace) -> int:
    """Build one model and its example inputs."""
    import numpy as np

    from surplus import models

    info = models.info(args.name)
    parameters = info.parse(texts(args.param))
    path = args.output or Path(f"{args.name}.onnx")
    check_outputs(path)
    models.save(info.build(**parameters), path)
    print(path)
    if not args.no_inputs:
        inputs = info.example_inputs(**parameters)
        np.savez(path.with_suffix(".npz"), **inputs)  # type: ignore[arg-type]
        print(path.with_suffix(".npz"))
    return 0
