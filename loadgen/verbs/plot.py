"""``loadgen plot``: pictures of results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.loadgen.capacity.result import CAPACITY_FORMAT
from surplus.loadgen.errors import BadOptionError
from surplus.loadgen.plots import PLOTS
from surplus.loadgen.plots.plot import SUFFIXES, Named, save_plot
from surplus.loadgen.result import FORMAT, read_result
from surplus.loadgen.verbs.run import check_file


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("plot", help="pictures of results")
    add = parser.add_argument
    add("what", choices=list(PLOTS), help="what is drawn")
    add("results", nargs="+", type=Path, metavar="RESULT", help="a file of run or capacity --json")
    kinds = ", ".join(SUFFIXES)
    add("-o", "--output", type=Path, required=True, metavar="FILE", help=f"the picture: {kinds}")
    parser.set_defaults(do=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.output.suffix.lower() not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise BadOptionError(f"{arguments.output}: the suffix must be one of {known}")
    check_file(str(arguments.output))
    formats = [FORMAT] + [CAPACITY_FORMAT] * (arguments.what == "latency-over-load")
    results = [Named(path.stem, read_result(path, formats)) for path in arguments.results]
    save_plot(arguments.what, results, arguments.output)
    return 0
