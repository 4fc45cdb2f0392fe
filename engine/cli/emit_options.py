"""What a placement is exported as: the problem that it solves, and files for other runtimes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.engine.dfg.graph import Graph
    from surplus.placement import Placement, Problem


def add_exports(parser: argparse.ArgumentParser) -> None:
    """--export-problem and --emit."""
    parser.add_argument(
        "--export-problem",
        "--problem",
        dest="problem",
        type=Path,
        metavar="F.json",
        help="write the problem, for python -m surplus.milp",
    )
    parser.add_argument(
        "--emit",
        nargs=2,
        metavar=("RUNTIME", "FOLDER"),
        help="write the placement as another runtime reads it: onnxruntime",
    )


def check_emit(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before any work is done for it, and count its own kernels.

    Raises
    ------
    ConfigError
        If the runtime is unknown, has other kernels than asked for, takes no widths, or the folder
        cannot be one.
    """
    if args.emit is None:
        return
    from surplus.engine.emit import EMITTERS

    runtime, folder = args.emit[0], Path(args.emit[1])
    if runtime not in EMITTERS:
        raise ConfigError(f"--emit {runtime!r}: there are {', '.join(EMITTERS)}")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--emit: {folder} exists and is not a folder")
    if not folder.parent.is_dir():
        raise ConfigError(f"--emit: there is no folder {folder.parent}")
    if args.widths:
        raise ConfigError(
            f"--emit {runtime} keeps to no --widths: all operators of a session have its threads"
        )
    if args.kernels not in ("auto", runtime):
        raise ConfigError(f"--emit {runtime} runs its own kernels, not those of {args.kernels}")
    args.kernels = runtime


def write_emitted(
    args: argparse.Namespace,
    graph: Graph,
    problem: Problem,
    placement: Placement,
    proven_ns: int = 0,
) -> None:
    """Write what --emit asks for, if it does, and say on stderr what holds of it.

    Parameters
    ----------
    proven_ns : int
        What a solver has proven that no plan is below, if one was asked.
    """
    if args.emit is None:
        return
    from surplus.engine.emit import Placed, emit

    folder = Path(args.emit[1])
    placed = Placed(args.model, graph, problem, placement, proven_ns)
    emitted = emit(args.emit[0], placed, folder)
    lines = [
        f"{folder}: {', '.join(path.name for path in emitted.files)}",
        f"no plan is more than {100 * placed.gap:.1f} % shorter, which is proven",
        *emitted.remarks,
    ]
    print("\n".join(lines), file=sys.stderr)
