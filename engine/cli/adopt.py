"""``engine adopt``: run a program that uses ONNX Runtime's Python module on this engine."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.parser import add_verb

_SUMMARY = "run a program whose `import onnxruntime` gets this engine, and its child processes"
_EXAMPLE = """
engine adopt -- python app.py --its-own option
engine adopt --deadline-ms 32 -- python -m package
engine adopt --best-effort -- a-console-script
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "adopt", _SUMMARY, _EXAMPLE, run)
    options.add_devices(parser)
    options.add_cache(parser)
    parser.add_argument(
        "--kernels",
        metavar="NAME",
        help="whose kernels a CPU may compute with: onnxruntime, whose bits are the same (the"
        " default), auto or a library's name",
    )
    parser.add_argument(
        "--deadline-ms",
        type=float,
        metavar="MS",
        help="queries are due so long after they came",
    )
    parser.add_argument("--priority", type=int, metavar="N", help="queries of a higher go first")
    parser.add_argument(
        "--best-effort", action="store_true", help="its queries go behind those of all others"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the program, after --")


def run(args: argparse.Namespace) -> int:
    """Become the program; returns only by an error."""
    from surplus.engine.dropin.adoption import environment
    from surplus.engine.errors import ConfigError
    from surplus.engine.native import find_library

    find_library()  # or say now what is missing
    command = args.command
    if shutil.which(command[0]) is None:
        raise ConfigError(f"there is no program {command[0]!r}")
    os.execvpe(command[0], command, environment(os.environ, _load_options(args)))


def _load_options(args: argparse.Namespace) -> dict[str, Any]:
    names = ("devices", "kernels", "priority", "best_effort")
    said = {name: getattr(args, name) for name in names}
    if args.deadline_ms is not None:
        said["deadline_s"] = args.deadline_ms / 1e3
    if args.cache is not None:
        said["cache"] = str(args.cache.absolute())
    return {
        name: value
        for name, value in said.items()
        if value is not None and value is not False and value != ""
    }
