"""``engine inspect``: the shape of a model's data-flow graph."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from surplus.engine.cli.options import add_json, add_model
from surplus.engine.cli.output import show_json, show_mapping
from surplus.engine.cli.parser import add_verb

_SUMMARY = "show what is in a model: size, width, operators, bytes"
_EXAMPLE = "engine inspect model.onnx"


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "inspect", _SUMMARY, _EXAMPLE, run)
    add_model(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the model and print what is in it."""
    from surplus.engine.dfg.inspect import inspect
    from surplus.engine.planning.stages import read_model

    found = asdict(inspect(read_model(args.model, args.cache)))
    if args.json:
        show_json(found)
    else:
        show_mapping(str(args.model), found)
    return 0
