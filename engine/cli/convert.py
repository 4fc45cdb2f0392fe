"""``engine convert``: a torch module as a checked ONNX file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.convert_options import add_conversion, convert_params
from surplus.engine.cli.options import add_cache, add_json
from surplus.engine.cli.output import check_outputs, show_json, show_mapping
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    from surplus.engine.convert.converter import Conversion

_SUMMARY = "make an ONNX file of a torch module, and check that both answer the same"
_EXAMPLE = """
engine convert nets.small:make --input image:batchx3x224x224:float32 -o small.onnx
engine convert bert:load --input tokens:batch=4xtime=16:int64 --range tokens=0:30522 -o b.onnx
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "convert", _SUMMARY, _EXAMPLE, run)
    add_conversion(parser)
    add_cache(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Convert, then show what was made and what is in it."""
    from surplus.engine.convert.from_torch import convert_target
    from surplus.engine.dfg.inspect import inspect
    from surplus.engine.planning.stages import read_model

    params = convert_params(args)
    check_outputs(args.output, None if args.no_inputs else args.output.with_suffix(".npz"))
    made = convert_target(args.target, params, args.output, args.path)
    found = asdict(inspect(read_model(made.model, args.cache)))
    if args.json:
        document = {
            **asdict(made),
            "model": str(made.model),
            "inputs": made.inputs and str(made.inputs),
        }
        show_json({**document, "inspect": found})
        return 0
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    show_mapping("conversion", _shown(made))
    show_mapping(str(made.model), found)
    return 0


def _shown(made: Conversion) -> dict[str, Any]:
    return {
        "model": str(made.model),
        "example inputs": str(made.inputs) if made.inputs else None,
        "exporter": made.exporter,
        "opset": made.opset,
        "same as torch on": "; ".join(made.checked) or "not checked",
        "largest difference": _digits(made.largest_difference),
    }


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}"
