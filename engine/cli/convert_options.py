"""Options of ``engine convert``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.engine.convert.converter import ConvertParams


def add_conversion(parser: argparse.ArgumentParser) -> None:
    """What to convert, how, and what to check it on."""
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


def convert_params(args: argparse.Namespace) -> ConvertParams:
    """What the options say."""
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
