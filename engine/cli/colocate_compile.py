"""``engine colocate compile``: versions of a model's blocks, compiled by TVM."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.output import show_rows
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    from surplus.engine.compilation.compile_model import CompiledLayer

_SUMMARY = "compile blocks of a model in several versions, by VELTAIR's Algorithm 1 (needs TVM)"
_EXAMPLE = "engine colocate compile mobilenet_v2.onnx --target 20ms -o compiled"
_MICRO = 1000


def add_parser(actions: Any) -> None:
    """Register the action."""
    parser = add_verb(actions, "compile", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    add = parser.add_argument
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    add("--target", required=True, metavar="TIME", help="of the model: 50ms, 1.5s, 800us")
    add("--blocks", type=int, default=4, metavar="N", help="about so many (%(default)d)")
    add("--versions", type=int, default=3, metavar="N", help="of each block (%(default)d)")
    add("--candidates", type=int, default=12, metavar="N", help="of a layer (%(default)d)")
    add("--lanes", type=int, default=0, metavar="N", help="that wide versions keep busy (all)")
    add("--layers", type=int, default=0, metavar="N", help="different ones at most (no limit)")


def run(args: argparse.Namespace) -> int:
    """Compile, and say what was chosen."""
    from surplus.engine.cli.durations import duration_ns
    from surplus.engine.compilation.candidates import CandidateParams
    from surplus.engine.compilation.compile_model import CompilationParams, compile_model
    from surplus.engine.native import load_runtime
    from surplus.engine.planning.stages import read_model

    candidates = CandidateParams(args.candidates)
    counts = {"blocks": args.blocks, "versions": args.versions, "most_layers": args.layers}
    lanes = {"lanes": args.lanes} if args.lanes else {}
    params = CompilationParams(duration_ns(args.target), candidates=candidates, **counts, **lanes)
    load_runtime()
    made = compile_model(read_model(args.model, args.cache), args.output, params, _say)
    rows = [row for layer in made.layers for row in _rows(layer)]
    show_rows("versions", rows)
    print(f"{made.manifest}: {len(made.blocks)} blocks")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rows(layer: CompiledLayer) -> list[dict[str, Any]]:
    """Of each version that differs from the one before."""
    measured = {own.tiling: own.measured for own in layer.candidates}
    return [
        {
            "layer": layer.name,
            "version": version + 1,
            "parallelism": measured[tiling].parallelism,
            "block": f"{measured[tiling].block // 1024} KiB",
            "alone": f"{measured[tiling].time_ns // _MICRO} us",
            "target": f"{layer.target_ns // _MICRO} us",
        }
        for version, tiling in enumerate(layer.versions)
        if version == 0 or tiling != layer.versions[version - 1]
    ]
