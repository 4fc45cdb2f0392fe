"""``engine convert``: a torch module as a checked ONNX file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.options import add_cache, add_json
from surplus.engine.cli.output import check_outputs, show_json, show_mapping
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    from surplus.engine.convert.converter import Conversion, ConvertParams

_SUMMARY = "make an ONNX file of a torch module, and check that both answer the same"
_EXAMPLE = """
engine convert nets.small:make --input image:batchx3x224x224:float32 -o small.onnx
engine convert bert:load --input tokens:batch=4xtime=16:int64 --range tokens=0:30522 -o b.onnx
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "convert", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("target", metavar="MODULE:FACTORY", help="what returns a torch.nn.Module, or is one")
    add(
        "--input",
        action="append",
        default=[],
        metavar="NAME:SHAPE:DTYPE",
        help="one for each argument of forward, in order; in SHAPE, a word is a dynamic axis, of"
        " size 2 in the example unless given as word=SIZE; commas may stand for x",
    )
    add("-o", "--output", type=Path, required=True, metavar="F.onnx", help="where to")
    add(
        "--range",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="random values of an input lie in [LOW, HIGH) (default: floats normal, integers 0"
        " and 1, 8-bit integers all)",
    )
    add("--output-names", default="", metavar="A,B", help="names of the outputs, in order")
    add("--opset", type=int, metavar="N", help="ONNX operator set (default: the exporter's)")
    add(
        "--exporter",
        default="auto",
        choices=["auto", "dynamo", "torchscript"],
        help="which of torch's exporters (default: dynamo, then torchscript)",
    )
    add("--seeds", type=int, default=3, metavar="N", help="random inputs to check on (default 3)")
    add(
        "--inputs",
        type=Path,
        metavar="F.npz",
        help="inputs of your own by name: to export with, and to check on beside the random ones"
        " (--seeds 0: instead of them)",
    )
    add("--rtol", type=float, metavar="R", help="relative tolerance (default by type)")
    add("--atol", type=float, metavar="A", help="absolute tolerance (default by type)")
    add(
        "--path",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="where to import MODULE from, before the current folder; may be repeated",
    )
    add("--no-inputs", action="store_true", help="do not write example inputs (F.npz)")
    add_cache(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Convert, then show what was made and what is in it."""
    from surplus.engine.convert.from_torch import convert_target
    from surplus.engine.dfg.inspect import inspect
    from surplus.engine.planning.stages import read_model

    params = _params(args)
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


def _params(args: argparse.Namespace) -> ConvertParams:
    from surplus.engine.convert.agreement import Tolerance
    from surplus.engine.convert.converter import ConvertParams
    from surplus.engine.convert.input_spec import parse_inputs
    from surplus.engine.convert.samples import given
    from surplus.engine.examples.given import arrays_in

    specs = parse_inputs(args.input, args.range)
    return ConvertParams(
        inputs=specs,
        output_names=args.output_names.split(",") if args.output_names else (),
        opset=args.opset,
        exporter=args.exporter,
        seeds=args.seeds,
        own=args.inputs and given(specs, arrays_in(args.inputs), str(args.inputs)),
        tolerance=Tolerance(args.rtol, args.atol),
        write_inputs=not args.no_inputs,
    )


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
